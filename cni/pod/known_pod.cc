#include "cni/pod/known_pod.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "binding/plan/attachment.h"
#include "binding/plan/l3.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

constexpr std::string_view kKuryrPort = "KuryrPort";
constexpr std::string_view kConfigHash = "kubernetes.io/config.hash";

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

const json& Annotation(const json& pod, std::string_view key) {
  return MemberAt(MemberAt(MemberAt(pod, "metadata"), "annotations"), key);
}

bool HasFinalizer(const json& pod) {
  const json& finalizers = MemberAt(MemberAt(pod, "metadata"), "finalizers");
  return std::find(finalizers.begin(), finalizers.end(), vif::kPodFinalizer) != finalizers.end();
}

PlannedPod ReadPod(const watcher::WatchEvent& event, VifSource source) {
  PlannedPod pod{.name_space = event.name_space,
                 .name = event.name,
                 .uid = event.uid,
                 .manifest_hash = ManifestHashOf(*event.object),
                 .plan = nullptr,
                 .plan_mark = 0};
  const json& mark = Annotation(*event.object, vif::kPlannedAnnotation);
  if (mark.is_string())
    pod.plan_mark = std::hash<std::string_view>()(mark.get_ref<const std::string&>());
  if (source != VifSource::kKuryrPort && !Annotation(*event.object, vif::kVifAnnotation).is_null())
    pod.plan = std::make_shared<const PodPlan>(DecodePlan(event));
  return pod;
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

bool IsMirrorPod(const json& pod) {
  const json& owners = MemberAt(MemberAt(pod, "metadata"), "ownerReferences");
  return !Annotation(pod, "kubernetes.io/config.mirror").is_null() &&
         std::any_of(owners.begin(), owners.end(),
                     [](const json& owner) { return StringAt(owner, "kind") == "Node"; });
}

std::string ManifestHashOf(const json& pod) {
  const json& hash = Annotation(pod, kConfigHash);
  return hash.is_string() && IsMirrorPod(pod) ? hash.get<std::string>() : std::string();
}

bool operator==(const PlannedPod& left, const PlannedPod& right) {
  const bool same_plan =
      left.plan == right.plan || (left.plan && right.plan && *left.plan == *right.plan);
  return left.name_space == right.name_space && left.name == right.name && left.uid == right.uid &&
         left.manifest_hash == right.manifest_hash && left.plan_mark == right.plan_mark &&
         same_plan;
}

/// kuryr-kubernetes releases the ports of a KuryrPort that is being deleted, so its plan is void.
/// kuryr-controller releases them at the pod's end, so its plan holds until then.
KnownPod::Port KnownPod::ReadPort(const watcher::WatchEvent& event) {
  const bool deleted =
      !MemberAt(MemberAt(*event.object, "metadata"), "deletionTimestamp").is_null();
  const bool is_planners = Annotation(*event.object, vif::kPlannerAnnotation) == vif::kPlanner;
  const bool ends = deleted && !is_planners;
  PodPlan plan = ends ? PodPlan{.kind = event.kind, .read = {}, .problem = {}} : DecodePlan(event);
  return {.pod_uid = StringAt(MemberAt(*event.object, "spec"), "podUid"),
          .is_planners = is_planners,
          .plan = std::make_shared<const PodPlan>(std::move(plan))};
}

void KnownPod::LearnPort(const watcher::WatchEvent& event) {
  if (source_ == VifSource::kAnnotation) return;
  if (event.type == watcher::EventType::kDeleted) {
    port_.reset();
  } else {
    port_ = ReadPort(event);
  }
}

void KnownPod::LearnPod(const watcher::WatchEvent& event) {
  const bool was_held = held_ && pod_ && pod_->uid == event.uid;
  held_ = was_held || HasFinalizer(*event.object);
  pod_ = ReadPod(event, source_);
}

KnownPod::Change KnownPod::Learn(const watcher::WatchEvent& event) {
  using watcher::EventType;
  const bool gone = event.type == EventType::kDeleted;
  if (!gone && event.type != EventType::kAdded && event.type != EventType::kModified)
    return Change::kNone;
  const auto before = pod();
  if (event.kind == kKuryrPort) {
    LearnPort(event);
  } else if (gone) {
    *this = KnownPod(source_);
    return Change::kGone;
  } else {
    LearnPod(event);
  }
  return pod() == before ? Change::kNone : Change::kPresent;
}

/// A KuryrPort may outlive its pod, and another pod may have its name by then. A static pod has one
/// UID at the runtime, the hash of its manifest, and another at the API server.
bool KnownPod::HasPort() const {
  if (!port_ || port_->pod_uid.empty() || (port_->is_planners && !held_)) return false;
  return port_->pod_uid == pod_->uid || port_->pod_uid == pod_->manifest_hash;
}

size_t KnownPod::bytes() const {
  const size_t of_pod = pod_ && pod_->plan ? pod_->plan->bytes : 0;
  return of_pod + (port_ ? port_->plan->bytes : 0);
}

void KnownPod::RefusePlans(const std::string& key, const std::string& why) {
  const auto refuse = [&](std::shared_ptr<const PodPlan>& plan) {
    if (plan == nullptr || plan->bytes == 0) return;
    plan = std::make_shared<const PodPlan>(PodPlan{
        .kind = plan->kind, .read = {}, .problem = ParseError(plan->kind + " " + key, why)});
  };
  if (pod_) refuse(pod_->plan);
  if (port_) refuse(port_->plan);
}

bool KnownPod::IsOf(const std::string& uid) const {
  if (uid.empty()) return false;
  if (port_ && port_->pod_uid == uid) return true;
  return pod_ && (pod_->uid == uid || pod_->manifest_hash == uid);
}

bool KnownPod::complete() const {
  if (source_ == VifSource::kAnnotation || annotated()) return true;
  if (!pod_ || !HasPort() || port_->plan->read.empty()) return false;
  const auto& vifs = port_->plan->read;
  return std::all_of(vifs.begin(), vifs.end(), vif::IsActive);
}

std::optional<PlannedPod> KnownPod::pod() const {
  if (!pod_ || annotated() || !HasPort()) return pod_;
  PlannedPod pod = *pod_;
  pod.plan = port_->plan;
  return pod;
}

}  // namespace kuryr::cni
