#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "vif/pod_vifs.h"
#include "watcher/watch_event.h"

namespace kuryr::cni {

/// What one pod gets at the most: VIFs, and of each its addresses and its routes.
inline constexpr size_t kMostVifs = 64;
inline constexpr size_t kMostAddresses = 64;
inline constexpr size_t kMostRoutes = 256;

/// The VIFs that the event's object has, as vif::VifsOf has them, within these limits and each with
/// a layer 3 that can be planned. The ParseError's path begins with the object: "KuryrPort
/// default/nginx:
/// $.status.vifs.eth0.vif", "Pod default/nginx: annotation openstack.org/kuryr-vif, VIF of eth0,
/// $.network".
[[nodiscard]] std::optional<std::vector<vif::PodVif>> VifsOf(const watcher::WatchEvent& event);

}  // namespace kuryr::cni
