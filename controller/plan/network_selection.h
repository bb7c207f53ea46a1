#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"

namespace kuryr::controller {

/// The networks that a pod has beside its own. (Network Plumbing Working Group, Kubernetes Network
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
  std::optional<MacAddress> mac;     ///< this one; nothing: any
  std::string claim;                 ///< the name of an IPAMClaim, as it is written; empty: none
  bool has_default_route = false;    ///< the pod's default route leads through it

  bool operator==(const NetworkSelection&) const = default;
};

/// Both forms of the annotation: "[NAMESPACE/]NAME[@IFNAME],..." and a JSON list. What an entry
/// leaves open is the pod's namespace, and net1, net2, ... by the entry's position. Interface names
/// are unique, and none is eth0. BackendError kRefused names the entry, the field and what was
/// expected.
[[nodiscard]] std::vector<NetworkSelection> ParseNetworkSelections(
    const std::string& text, const std::string& pod_namespace);

}  // namespace kuryr::controller
