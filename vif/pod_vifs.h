#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vif/vif.h"

// Reads the VIFs of a pod, as every release of kuryr-kubernetes wrote them. The pod's annotation
// has one VIF, a map by interface name, or a PodState. A KuryrPort has VIFs in status.vifs, and for
// some weeks had them in spec.vifs.

namespace kuryr::vif {

inline constexpr std::string_view kVifAnnotation = "openstack.org/kuryr-vif";
/// The annotation that names a KuryrPort's maker, and the value that kuryr-controller writes.
inline constexpr const char* kPlannerAnnotation = "kuryr.openstack.org/planner";
inline constexpr const char* kPlanner = "kuryr-controller";
/// The finalizer of kuryr-kubernetes on pods: a pod stays until its VIFs are released.
inline constexpr const char* kPodFinalizer = "kuryr.openstack.org/pod-finalizer";
inline constexpr std::string_view kDefaultIfname = "eth0";
/// The annotation of a pod by which the maker of its KuryrPort tells the node that the plan of the
/// running pod has changed: another value each time. kuryr-controller writes InterfacesOf.
inline constexpr const char* kPlannedAnnotation = "kuryr.openstack.org/planned-interfaces";
/// The largest plan of one pod in bytes; Kubernetes limits annotations to this size.
inline constexpr size_t kLargestPlan = size_t{256} << 10;

struct PodVif {
  std::string ifname;  ///< the name inside the pod, as the producer planned it
  bool is_default = false;
  Vif vif;

  bool operator==(const PodVif&) const = default;
};

/// Whether the producer says that the VIF's port is up. A VIF without `active` is active: that is
/// os-vif's default, and every known producer writes the field.
[[nodiscard]] bool IsActive(const PodVif& vif);

/// The interfaces by name, and the ids of their VIFs: "eth0=ID,net1=ID".
[[nodiscard]] std::string InterfacesOf(const std::vector<PodVif>& vifs);

/// True for a KuryrPort, false for a Pod. Items of a list have no kind; spec.podUid marks a
/// KuryrPort. Throws ParseError for every other kind.
[[nodiscard]] bool IsKuryrPort(const nlohmann::json& object);

/// The VIFs of a Pod or a KuryrPort: the default VIF first, the others by interface name. nullopt
/// if the object has none yet. Throws ParseError. An error inside the annotation has a path that
/// begins with the annotation's
/// ("$.metadata.annotations['openstack.org/kuryr-vif'].network.subnets[0].cidr"). A single VIF and
/// a PodState's default_vif are "eth0". The default one is that, a KuryrPort's with `default` true,
/// or without one "eth0", else the first by name.
[[nodiscard]] std::optional<std::vector<PodVif>> VifsOf(const nlohmann::json& pod_or_kuryrport);

/// The VIFs in an annotation's text of at most kLargestPlan bytes, which stands at `path`. Empty
/// for "{}".
[[nodiscard]] std::vector<PodVif> DecodeAnnotation(std::string_view text,
                                                   const std::string& path = "$");

/// The annotation's text for these VIFs: a PodState as kuryr 0.5.0 to 2.0.0 wrote it, keys sorted,
/// without changes. The default VIF must be among them.
[[nodiscard]] std::string EncodeAnnotation(const std::vector<PodVif>& vifs);

}  // namespace kuryr::vif
