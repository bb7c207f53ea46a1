#include "cni/pod/pod_plan.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "binding/attachment.h"
#include "binding/l3.h"

namespace kuryr::cni {
namespace {

void RequireFew(size_t count, size_t most, const std::string& what, const std::string& path) {
  if (count <= most) return;
  throw ParseError(path, "has " + std::to_string(count) + " " + what + ", at most " +
                             std::to_string(most) + " are accepted");
}

/// Throws ParseError for a VIF whose layer 3 cannot be planned. `in` is the path of the VIFs.
void RequireL3(const vif::PodVif& vif, const std::string& in) {
  try {
    const binding::L3Plan plan = binding::PlanL3(vif::Common(vif.vif), vif.is_default);
    RequireFew(plan.addresses.size(), kMostAddresses, "addresses", "$.network.subnets");
    RequireFew(plan.routes.size(), kMostRoutes, "routes", "$.network.subnets");
  } catch (const ParseError& e) {
    throw ParseError(in + "VIF of " + vif.ifname + ", " + e.path(), e.reason());
  }
}

void Decode(const watcher::WatchEvent& event, PodPlan& plan) {
  auto vifs = vif::VifsOf(*event.object).value_or(std::vector<vif::PodVif>());
  const std::string annotation = "annotation " + std::string(vif::kVifAnnotation);
  const bool is_annotation = event.kind == "Pod";
  const std::string path = is_annotation ? annotation : "vifs";
  RequireFew(vifs.size(), kMostVifs, "VIFs", path);
  size_t bytes = vifs.size() * sizeof(vif::PodVif);
  for (vif::PodVif& vif : vifs) {
    RequireL3(vif, is_annotation ? annotation + ", " : "");
    bytes += vif::SlimDown(vif.vif);
  }
  RequireFew(bytes, kLargestDecoded, "bytes of values", path);
  vifs.shrink_to_fit();
  plan.read = std::move(vifs);
  plan.bytes = bytes;
}

}  // namespace

const std::vector<vif::PodVif>& PodPlan::vifs() const {
  if (problem) throw binding::MalformedVif(*problem);
  return read;
}

bool operator==(const PodPlan& left, const PodPlan& right) {
  const auto why = [](const PodPlan& plan) {
    return plan.problem ? std::string(plan.problem->what()) : std::string();
  };
  return left.kind == right.kind && left.read == right.read && why(left) == why(right);
}

PodPlan DecodePlan(const watcher::WatchEvent& event) {
  PodPlan plan{.kind = event.kind, .read = {}, .problem = {}};
  try {
    Decode(event, plan);
  } catch (const ParseError& e) {
    plan.problem.emplace(event.kind + " " + event.name_space + "/" + event.name + ": " + e.path(),
                         e.reason());
  }
  return plan;
}

}  // namespace kuryr::cni
