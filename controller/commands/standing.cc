#include "controller/commands/standing.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "controller/election/api_time.h"
#include "controller/owners/plan_verdict.h"
#include "controller/rounds/reporter.h"
#include "service/table.h"
#include "vif/pod_vifs.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using std::chrono::seconds;

json PartOf(const json& object, const char* key) {
  const auto part = object.find(key);
  return part == object.end() ? json() : *part;
}

std::optional<std::chrono::sys_seconds> ConditionTime(const json& pod, const std::string& type) {
  const json status = PartOf(pod, "status");
  if (!status.is_object()) return std::nullopt;
  for (const json& condition : PartOf(status, "conditions")) {
    if (StringAt(condition, "type") == type)
      return ParseTime(StringAt(condition, "lastTransitionTime"));
  }
  return std::nullopt;
}

/// When the pod was deleted: its deletionTimestamp is the end of the grace period.
std::optional<std::chrono::sys_seconds> DeletionTime(const json& metadata) {
  auto time = ParseTime(StringAt(metadata, "deletionTimestamp"));
  const json grace = PartOf(metadata, "deletionGracePeriodSeconds");
  constexpr int64_t kDay = 86'400;
  if (time && grace.is_number_integer())
    *time -= seconds(std::clamp<int64_t>(grace.get<int64_t>(), 0, kDay));
  return time;
}

bool IsGone(const PodQuestion& question) {
  const std::string& node = question.pod.known.pod->node;
  try {
    return !node.empty() && question.survey.IsNodeGone(node);
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kForbidden) throw;
    return false;
  }
}

const char* NobodyPlans(const PodQuestion& question) {
  return question.leader.absent() ? "nobody leads" : "";
}

std::string NewestEvent(const PodQuestion& question) {
  const PodEvents::Told* told = question.events.Find(question.pod.event.uid);
  return told == nullptr ? "" : told->ToString();
}

std::string WhyWaiting(const PodQuestion& question) {
  const std::string nobody = NobodyPlans(question);
  const std::string event = NewestEvent(question);
  if (!event.empty()) return nobody.empty() ? event : nobody + "; " + event;
  return nobody.empty() ? "no Event says why" : nobody;
}

/// Names pods of other namespaces: whoever may list all pods may know them.
std::string WhyConflict(const PodQuestion& question) {
  const KnownPod& known = question.pod.known;
  const PlanState& plan = PlanOf(known);
  if (plan.problem.empty()) return MismatchOf(known);
  std::string why = plan.problem;
  const auto* keeper = question.survey.backend().facets().addresses;
  if (keeper == nullptr) return why;
  for (const Owner& rival : keeper->Rivals(known.pod->owner(), plan.kept.vifs())) {
    if (rival.scope != known.pod->name_space) why += "; pod " + Printable(KeyOf(rival));
  }
  return why;
}

std::string WhyInactive(const PodQuestion& question) {
  for (const vif::PodVif& vif : question.survey.FindVifs(question.pod)) {
    const vif::VifBase& common = vif::Common(vif.vif);
    if (!vif::IsActive(vif))
      return "waits for port " + common.id.value_or("") + " to become active";
  }
  return "";
}

/// The event that the pod's release waits for; empty: none.
std::string Holdup(const PodQuestion& question) {
  const PodFacts& pod = *question.pod.known.pod;
  switch (AwaitedBy(pod)) {
    case Awaited::kNothing:
      return "";
    case Awaited::kDeletion:
      return "its deletion";
    case Awaited::kGracePeriod:
      return "its grace period to end" +
             (IsGone(question) ? "; node " + pod.node + " is gone: delete the pod with --force"
                               : std::string());
    case Awaited::kContainers:
      return IsGone(question) ? "" : "its containers to end, or node " + pod.node + " to be gone";
  }
  return "";
}

std::string WhyReleasing(const PodQuestion& question) {
  const std::string holdup = Holdup(question);
  if (!holdup.empty()) return "waits for " + holdup;
  const std::string nobody = NobodyPlans(question);
  return nobody.empty() ? "waits for kuryr-controller to release it" : nobody;
}

std::string NextOfUnplanned(const PodFacts& pod) {
  if (pod.host_network) return "nothing: the pod is on the node's network";
  if (pod.completed || pod.deleted) return "nothing: nothing of the pod is left";
  return "nothing until the pod has a node";
}

}  // namespace

Standing StandingOf(const KnownPod& known) {
  const PodFacts& pod = *known.pod;
  const PlanState& plan = PlanOf(known);
  if (!NeedsPlan(pod)) {
    if (HasOurs(known)) return Standing::kReleasing;
    return IsOthers(known) ? Standing::kOthers : Standing::kNone;
  }
  if (IsOthers(known)) return ProblemOf(known).empty() ? Standing::kOthers : Standing::kBad;
  if (!plan.present) return Standing::kWaiting;
  if (!plan.refused.empty()) return Standing::kBad;
  if (!plan.problem.empty()) return plan.ours ? Standing::kConflict : Standing::kBad;
  if (!MismatchOf(known).empty()) return Standing::kConflict;
  return plan.active ? Standing::kPlanned : Standing::kInactive;
}

Standing StandingOf(const PodQuestion& question) {
  const Standing standing = StandingOf(question.pod.known);
  const PodEvents::Told* told = question.events.Find(question.pod.event.uid);
  const bool is_lost =
      standing == Standing::kPlanned && told != nullptr && told->reason == kPortLost;
  return is_lost ? Standing::kLost : standing;
}

const char* NameOf(Standing state) {
  switch (state) {
    case Standing::kNone:
      return "none";
    case Standing::kOthers:
      return "others";
    case Standing::kPlanned:
      return "planned";
    case Standing::kWaiting:
      return "waiting";
    case Standing::kInactive:
      return "planned,inactive";
    case Standing::kConflict:
      return "planned,conflict";
    case Standing::kLost:
      return "planned,lost";
    case Standing::kBad:
      return "bad";
    case Standing::kReleasing:
      return "releasing";
  }
  return "";
}

seconds AgeOf(const Survey::Pod& pod) {
  const json& object = *pod.event.object;
  const json metadata = PartOf(object, "metadata");
  auto since = ConditionTime(object, pod.known.pod->completed ? "Ready" : "PodScheduled");
  if (pod.known.pod->deleted) since = DeletionTime(metadata);
  if (!since) since = ParseTime(StringAt(metadata, "creationTimestamp"));
  return since ? AgeOf(*since) : seconds(0);
}

std::string WhyOf(const PodQuestion& question) {
  const KnownPod& known = question.pod.known;
  switch (StandingOf(question)) {
    case Standing::kNone:
    case Standing::kOthers:
    case Standing::kPlanned:
      return "";
    case Standing::kLost:
      return NewestEvent(question);
    case Standing::kWaiting:
      return WhyWaiting(question);
    case Standing::kInactive:
      return WhyInactive(question);
    case Standing::kConflict:
      return WhyConflict(question);
    case Standing::kBad:
      return ProblemOf(known);
    case Standing::kReleasing:
      return WhyReleasing(question);
  }
  return "";
}

std::string NextOf(const PodQuestion& question) {
  const KnownPod& known = question.pod.known;
  switch (StandingOf(question)) {
    case Standing::kNone:
      return NextOfUnplanned(*known.pod);
    case Standing::kPlanned:
      return "nothing: all is as it should be";
    case Standing::kOthers:
      return "nothing: another producer plans the pod";
    case Standing::kWaiting:
      return "the pod is planned";
    case Standing::kInactive:
      return "the plan becomes active when its port is";
    case Standing::kConflict:
      return MayYield(known) ? "it gets another address, if the other pod is plugged or older"
                             : "nothing until one of the pods is deleted";
    case Standing::kLost:
      return "nothing until the pod is deleted";
    case Standing::kBad:
      if (IsOthers(known)) return "nothing: another producer plans the pod";
      return !PlanOf(known).refused.empty() && known.pod->started
                 ? "nothing until the pod is deleted"
                 : "the plan is written anew";
    case Standing::kReleasing: {
      const std::string holdup = Holdup(question);
      return (holdup.empty() ? "" : "after " + holdup + ": ") +
             "the plan and the finalizer are taken away";
    }
  }
  return "";
}

}  // namespace kuryr::controller
