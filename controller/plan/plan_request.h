#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"

namespace kuryr::controller {

/// The owner of VIFs: a pod, a claim or a node.
struct Owner {
  std::string id;  ///< unique to one life, never used again (a pod's UID)
  /// Its group, which decides what it may use (a namespace). Empty: it is a node.
  std::string scope;
  std::string name;  ///< unique within its scope: for messages, names and tags
  std::string node;  ///< the host that plugs its VIFs

  [[nodiscard]] bool is_node() const noexcept { return scope.empty(); }
  bool operator==(const Owner&) const = default;
};

/// An interface to be planned.
struct InterfaceRequest {
  std::string ifname;  ///< inside the pod
  bool is_default = false;
  std::string network;  ///< its network, by the backend's name for it; empty: the backend chooses
  std::vector<IpAddress> addresses;          ///< exactly these; empty: any
  std::optional<MacAddress> mac;             ///< this one; nullopt: the backend chooses
  std::optional<Owner> claim;                ///< a claim whose addresses it may have
  std::vector<std::string> security_groups;  ///< ids of the backend; empty: its scope's
  /// Networks beside its own from whose addresses it sends (a node, as kube-proxy's answers do).
  std::vector<IpNetwork> sends_from;

  /// Whether the request limits the backend's choice.
  [[nodiscard]] bool HasWishes() const noexcept {
    return !addresses.empty() || mac || claim || !sends_from.empty();
  }
  bool operator==(const InterfaceRequest&) const = default;
};

/// The facts of an owner's scope that a backend may need.
struct Scope {
  std::string id;  ///< unique to one life (a namespace's UID); empty: not asked for
  std::vector<std::string> security_groups;  ///< those of its owners; empty: the backend chooses

  bool operator==(const Scope&) const = default;
};

struct PlanRequest {
  Owner owner;
  Scope scope;
  std::map<std::string, std::string> labels;  ///< those by which a backend may choose a network
  std::vector<IpNetwork> node_networks;       ///< networks of the owner's node alone
  std::vector<IpAddress> node_addresses;      ///< the node's own, where the backend needs them
  std::vector<InterfaceRequest> interfaces;   ///< one of them is the default
  bool anew = false;  ///< replaces VIFs that share something with another owner
};

}  // namespace kuryr::controller
