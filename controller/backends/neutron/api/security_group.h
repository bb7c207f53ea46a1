#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"

namespace kuryr::controller::neutron {

/// The traffic that a rule of a security group lets through.
struct SecurityRule {
  bool is_ingress = false;
  IpFamily family = IpFamily::kIpv4;
  std::string protocol;     ///< "tcp", "udp" or "sctp"; empty: any
  uint16_t first_port = 0;  ///< 0 with `last_port` 0: all
  uint16_t last_port = 0;
  std::string remote_group;             ///< peers are this group's ports
  std::optional<IpNetwork> remote_net;  ///< peers are these addresses; without either: any

  auto operator<=>(const SecurityRule&) const = default;
};

struct ListedRule {
  std::string id;
  SecurityRule rule;

  bool operator==(const ListedRule&) const = default;
};

/// GET /v2.0/security-groups/ID.
struct SecurityGroup {
  std::string id;
  std::string name;
  std::string description;
  std::vector<std::string> tags;
  std::vector<ListedRule> rules;

  bool operator==(const SecurityGroup&) const = default;
};

/// POST /v2.0/security-groups. Neutron adds rules that let everything out.
struct SecurityGroupRequest {
  std::string project_id;  ///< the token's when empty
  std::string name;
  std::string description;

  bool operator==(const SecurityGroupRequest&) const = default;
};

/// Selects groups of a list; an empty field selects all.
struct SecurityGroupFilter {
  std::string project_id;
  std::string description;
  std::vector<std::string> tags;  ///< as PortFilter's

  bool operator==(const SecurityGroupFilter&) const = default;
};

/// One of POST /v2.0/security-group-rules.
struct SecurityRuleRequest {
  std::string group_id;
  SecurityRule rule;

  bool operator==(const SecurityRuleRequest&) const = default;
};

}  // namespace kuryr::controller::neutron
