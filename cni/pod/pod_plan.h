#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "vif/pod_vifs.h"
#include "watcher/watch_event.h"

namespace kuryr::cni {

/// What one pod gets at the most: VIFs, and of each its addresses and its routes.
inline constexpr size_t kMostVifs = 64;
inline constexpr size_t kMostAddresses = 64;
inline constexpr size_t kMostRoutes = 256;
/// Bytes that the values of a plan may take. A text of vif::kLargestPlan may ask for more, with
/// subnets that have nothing in them.
inline constexpr size_t kLargestDecoded = 2 * vif::kLargestPlan;

/// What an object, a Pod or a KuryrPort, plans for its pod, decoded when its event comes in.
struct PodPlan {
  std::string kind;               ///< of the object
  std::vector<vif::PodVif> read;  ///< slim; empty without any, and where they cannot be read
  std::optional<ParseError> problem;
  size_t bytes = 0;  ///< of its values

  /// The default one first; empty while it plans none. Throws the problem as MalformedVif.
  [[nodiscard]] const std::vector<vif::PodVif>& vifs() const;

  friend bool operator==(const PodPlan& left, const PodPlan& right);
};

/// The VIFs of the event's object, as vif::VifsOf has them, within these limits and each with a
/// layer 3 that can be planned. The problem's path begins with the object: "KuryrPort
/// default/nginx: $.status.vifs.eth0.vif", "Pod default/nginx: annotation openstack.org/kuryr-vif,
/// VIF of eth0, $.network".
[[nodiscard]] PodPlan DecodePlan(const watcher::WatchEvent& event);

}  // namespace kuryr::cni
