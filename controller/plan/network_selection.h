#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"

namespace kuryr::controller {

/// A pod's networks beside its default one. (Network Plumbing Working Group, Kubernetes Network
/// Custom Resource Definition De-facto Standard 1.3, section 4; where it leaves room, as Multus)
inline constexpr const char* kNetworksAnnotation = "k8s.v1.cni.cncf.io/networks";
inline constexpr size_t kMostNetworksText = size_t{64} << 10;  ///< bytes
inline constexpr size_t kMostNetworks = 16;

/// One entry of the annotation.
struct NetworkSelection {
  std::string name_space;            ///< the NetworkAttachmentDefinition's
  std::string name;                  ///< the NetworkAttachmentDefinition's
  std::string ifname;                ///< inside the pod
  std::vector<IpAddress> addresses;  ///< these and no others; empty: any
  std::optional<MacAddress> mac;     ///< this one; nullopt: any
  std::string claim;                 ///< the name of an IPAMClaim, as it is written; empty: none
  bool has_default_route = false;    ///< the pod's default route leads through it

  bool operator==(const NetworkSelection&) const = default;
};

/// Parses both forms of the annotation: "[NAMESPACE/]NAME[@IFNAME],..." and a JSON list. The
/// default namespace is the pod's; default interface names are net1, net2, ... by position.
/// Interface names are unique, and none is eth0. PlanError kRefused names the entry, the field
/// and what was expected.
[[nodiscard]] std::vector<NetworkSelection> ParseNetworkSelections(
    const std::string& text, const std::string& pod_namespace);

}  // namespace kuryr::controller
