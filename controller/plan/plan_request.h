#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"

namespace kuryr::controller {

/// Whose VIFs they are.
struct Owner {
  std::string id;     ///< of one life, never used again (a pod's UID)
  std::string scope;  ///< what it belongs to, and what it may use (a namespace)
  std::string name;   ///< within its scope: for messages, names and tags
  std::string node;   ///< the host that plugs its VIFs

  bool operator==(const Owner&) const = default;
};

/// One interface that is to be planned.
struct InterfaceRequest {
  std::string ifname;  ///< inside the pod
  bool is_default = false;
  std::string network;  ///< which one, by the backend's name for it; empty: the backend chooses
  std::vector<IpAddress> addresses;          ///< these and no others; empty: any
  std::optional<MacAddress> mac;             ///< this one; nothing: the backend chooses
  std::optional<Owner> claim;                ///< whose kept addresses it may have
  std::vector<std::string> security_groups;  ///< by the backend's ids; empty: its scope's

  /// What it gets is not the backend's choice alone.
  [[nodiscard]] bool HasWishes() const noexcept { return !addresses.empty() || mac || claim; }
  bool operator==(const InterfaceRequest&) const = default;
};

/// The facts of an owner's scope that a backend may need.
struct Scope {
  std::string id;  ///< of one life (a namespace's UID); empty: it is not asked for
  std::vector<std::string> security_groups;  ///< its owners'; empty: the backend chooses

  bool operator==(const Scope&) const = default;
};

struct PlanRequest {
  Owner owner;
  Scope scope;
  std::map<std::string, std::string> labels;  ///< what a backend may choose a network by
  std::vector<IpNetwork> node_networks;       ///< those that the owner's node has of its own
  std::vector<IpAddress> node_addresses;      ///< the node's own, where the backend needs them
  std::vector<InterfaceRequest> interfaces;   ///< one of them is the default
  bool anew = false;  ///< others than those of which another owner has something
};

}  // namespace kuryr::controller
