#include "cni/pod/event_vifs.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "binding/l3.h"

namespace kuryr::cni {
namespace {

void RequireFew(size_t count, size_t most, const char* what, const std::string& path) {
  if (count <= most) return;
  throw ParseError(path, "has " + std::to_string(count) + " " + what + ", at most " +
                             std::to_string(most) + " are accepted");
}

/// Nothing is plugged whose layer 3 cannot be planned.
void RequireL3(const vif::PodVif& vif, bool is_annotation) {
  try {
    const binding::L3Plan plan = binding::PlanL3(vif::Common(vif.vif), vif.is_default);
    RequireFew(plan.addresses.size(), kMostAddresses, "addresses", "$.network.subnets");
    RequireFew(plan.routes.size(), kMostRoutes, "routes", "$.network.subnets");
  } catch (const ParseError& e) {
    const std::string where =
        is_annotation ? "annotation " + std::string(vif::kVifAnnotation) + ", " : "";
    throw ParseError(where + "VIF of " + vif.ifname + ", " + e.path(), e.reason());
  }
}

}  // namespace

std::optional<std::vector<vif::PodVif>> VifsOf(const watcher::WatchEvent& event) {
  const std::string kind = StringAt(*event.object, "kind");
  try {
    auto vifs = vif::VifsOf(*event.object);
    if (!vifs) return vifs;
    const std::string annotation = "annotation " + std::string(vif::kVifAnnotation);
    RequireFew(vifs->size(), kMostVifs, "VIFs", kind == "Pod" ? annotation : "vifs");
    for (const vif::PodVif& vif : *vifs) RequireL3(vif, kind == "Pod");
    return vifs;
  } catch (const ParseError& e) {
    throw ParseError(kind + " " + event.name_space + "/" + event.name + ": " + e.path(),
                     e.reason());
  }
}

}  // namespace kuryr::cni
