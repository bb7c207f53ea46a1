#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vif/vif.h"

// Where the VIFs of a pod stand, in every era of kuryr-kubernetes. The pod's annotation has one
// VIF, a map by interface name, or a PodState. A KuryrPort has them in status.vifs, for some weeks
// in spec.vifs.

namespace kuryr::vif {

inline constexpr std::string_view kVifAnnotation = "openstack.org/kuryr-vif";
/// Who made a KuryrPort, and what kuryr-controller writes there.
inline constexpr const char* kPlannerAnnotation = "kuryr.openstack.org/planner";
inline constexpr const char* kPlanner = "kuryr-controller";
inline constexpr std::string_view kDefaultIfname = "eth0";
/// Bytes of one pod's plan, as Kubernetes limits annotations.
inline constexpr size_t kLargestPlan = size_t{256} << 10;

struct PodVif {
  std::string ifname;  ///< the name inside the pod, as the producer planned it
  bool is_default = false;
  Vif vif;

  bool operator==(const PodVif&) const = default;
};

/// Whether it is a KuryrPort and not a Pod; the items of a list carry no kind, and are told apart
/// by spec.podUid. Throws ParseError for every other kind.
[[nodiscard]] bool IsKuryrPort(const nlohmann::json& object);

/// The VIFs of a Pod or a KuryrPort: the default one first, the others by interface name. nullopt
/// when it carries none yet. Throws ParseError; the path of what is wrong inside the annotation
/// goes on from the annotation's own
/// ("$.metadata.annotations['openstack.org/kuryr-vif'].network.subnets[0].cidr").
/// A single VIF and a PodState's default_vif are "eth0". The default one is that, a KuryrPort's
/// with `default` true, or without one "eth0", else the first by name.
[[nodiscard]] std::optional<std::vector<PodVif>> VifsOf(const nlohmann::json& pod_or_kuryrport);

/// The same for the annotation's text alone, of at most kLargestPlan, which stands at `path`. Empty
/// for "{}".
[[nodiscard]] std::vector<PodVif> DecodeAnnotation(std::string_view text,
                                                   const std::string& path = "$");

/// The annotation's text for these VIFs: a PodState as kuryr 0.5.0 to 2.0.0 wrote it, keys sorted,
/// without changes. The default VIF must be among them.
[[nodiscard]] std::string EncodeAnnotation(const std::vector<PodVif>& vifs);

}  // namespace kuryr::vif
