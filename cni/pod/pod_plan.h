#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "vif/pod_vifs.h"
#include "watcher/watch_event.h"

namespace kuryr::cni {

/// Limits of one pod's plan: VIFs, and addresses and routes of each VIF.
inline constexpr size_t kMostVifs = 64;
inline constexpr size_t kMostAddresses = 64;
inline constexpr size_t kMostRoutes = 256;
/// Bytes that the values of a plan may take. A text of vif::kLargestPlan may ask for more, by many
/// empty subnets.
inline constexpr size_t kLargestDecoded = 2 * vif::kLargestPlan;

/// The plan in a Pod or a KuryrPort, decoded when the object's event comes in.
struct PodPlan {
  std::string kind;               ///< of the object
  std::vector<vif::PodVif> read;  ///< slimmed down; empty without VIFs, or with a problem
  std::optional<ParseError> problem;
  size_t bytes = 0;  ///< of the values of `read`

  /// The default VIF first; empty while there are none. Throws `problem` as MalformedVif.
  [[nodiscard]] const std::vector<vif::PodVif>& vifs() const;

  friend bool operator==(const PodPlan& left, const PodPlan& right);
};

/// Decodes the VIFs of the event's object (vif::VifsOf). They must be within these limits, and the
/// layer 3 of each must be plannable. The problem's path begins with the object: "KuryrPort
/// default/nginx: $.status.vifs.eth0.vif", "Pod default/nginx: annotation openstack.org/kuryr-vif,
/// VIF of eth0, $.network".
[[nodiscard]] PodPlan DecodePlan(const watcher::WatchEvent& event);

}  // namespace kuryr::cni
