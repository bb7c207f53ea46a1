#include "controller/commands/pod_words.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

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

std::optional<std::chrono::sys_seconds> ConditionTime(const json& pod, const std::string& type) {
  for (const json& condition : MemberAt(MemberAt(pod, "status"), "conditions")) {
    if (StringAt(condition, "type") == type)
      return ParseTime(StringAt(condition, "lastTransitionTime"));
  }
  return std::nullopt;
}

/// When the pod was deleted: its deletionTimestamp is the end of the grace period.
std::optional<std::chrono::sys_seconds> DeletionTime(const json& metadata) {
  auto time = ParseTime(StringAt(metadata, "deletionTimestamp"));
  const json& grace = MemberAt(metadata, "deletionGracePeriodSeconds");
  constexpr int64_t kDay = 86'400;
  if (time && grace.is_number_integer())
    *time -= seconds(std::clamp<int64_t>(grace.get<int64_t>(), 0, kDay));
  return time;
}

/// Without the right to get Nodes, none is gone.
bool IsNodeGone(const Survey::Pod& pod, Survey& survey) {
  const std::string& node = pod.known.pod->node;
  try {
    return !node.empty() && survey.IsNodeGone(node);
  } catch (const watcher::ApiError& e) {
    if (e.code() != watcher::ApiError::kForbidden) throw;
    return false;
  }
}

std::string WhyWaiting(const PodQuestion& question) {
  const PodEvents::Told* told = question.events.Find(question.pod.event.uid);
  const std::string event = told == nullptr ? "" : told->ToString();
  if (!question.leader.absent()) return event.empty() ? "no Event says why" : event;
  return event.empty() ? "nobody leads" : "nobody leads; " + event;
}

/// Names pods of other namespaces: whoever may list all pods may know them.
std::string WhyConflict(const PodQuestion& question) {
  const PodFacts& pod = *question.pod.known.pod;
  const PlanState& plan = PlanOf(question.pod.known);
  std::string why = question.decision.problem;
  const auto* keeper = question.survey.backend().facets().addresses;
  if (keeper == nullptr || why != plan.problem) return why;
  for (const Owner& rival : keeper->Rivals(pod.owner(), plan.kept.vifs())) {
    if (rival.scope != pod.name_space) why += "; pod " + Printable(KeyOf(rival));
  }
  return why;
}

std::string WhyInactive(const PodQuestion& question) {
  for (const vif::PodVif& vif : question.survey.FindVifs(question.pod)) {
    if (!vif::IsActive(vif))
      return "waits for port " + vif::Common(vif.vif).id.value_or("") + " to become active";
  }
  return "";
}

/// The event that the pod's release waits for.
std::string Holdup(const PodQuestion& question) {
  const PodFacts& pod = *question.pod.known.pod;
  const Awaited awaited = AwaitedBy(pod);
  if (awaited == Awaited::kDeletion) return "its deletion";
  if (awaited == Awaited::kContainers)
    return "its containers to end, or node " + pod.node + " to be gone";
  const bool is_gone = IsNodeGone(question.pod, question.survey);
  return "its grace period to end" +
         (is_gone ? "; node " + pod.node + " is gone: delete the pod with --force" : "");
}

}  // namespace

Decision DecideListed(const Survey::Pod& pod, Survey& survey, const PodEvents* events) {
  PodOutlook outlook{.put_finalizer = false};  // Lists do not tell.
  outlook.rivals.emplace(PlanOf(pod.known).problem.empty() ? 0 : 1);
  const auto* told = events == nullptr ? nullptr : events->Find(pod.event.uid);
  if (told != nullptr && told->reason == kPortLost) outlook.loss = told->ToString();
  Decision decision = Decide(pod.known, outlook);
  if (decision.missing != Fact::kNode) return decision;
  outlook.node_gone = IsNodeGone(pod, survey);
  return Decide(pod.known, outlook);
}

const Words& WordsOf(Act act) {
  static constexpr const char* kWaits = "nothing until the pod is deleted";
  static constexpr const char* kTheirs = "nothing: another producer plans the pod";
  static constexpr const char* kCleared = "the plan and the finalizer are taken away";
  static constexpr const char* kWell = "nothing: all is as it should be";
  static const Fate kPlanned = {"plan", "it has no plan"};
  static const Fate kTaken = {"take over", "its plan is one of this backend"};
  static const Fate kReleased = {"release", "it is done or deleted, and has a plan"};
  static const Fate kLeft = {"leave", "another producer plans it"};
  static const std::map<Act, Words> kWords = {
      {Act::kNone, {"none", "nothing until the pod has a node", {}}},
      {Act::kLeave, {"others", kTheirs, kLeft}},
      {Act::kUnusable, {"bad", kTheirs, kLeft}},
      {Act::kTakeBack, {"others", kTheirs, kLeft}},
      {Act::kAwaitEnd, {"releasing", kCleared, kReleased}},
      {Act::kRelease, {"releasing", kCleared, kReleased}},
      {Act::kPlan, {"waiting", "the pod is planned", kPlanned}},
      {Act::kRestore, {"waiting", "the pod is planned", kPlanned}},
      {Act::kReplace, {"bad", "the plan is written anew", kTaken}},
      {Act::kRefuse, {"bad", kWaits, kTaken}},
      {Act::kYield, {"planned,conflict", "it gets other addresses", kTaken}},
      {Act::kActivate, {"planned,inactive", "the plan becomes active when its port is", kTaken}},
      {Act::kConflict, {"planned,conflict", "nothing until one of the pods is deleted", kTaken}},
      {Act::kLost, {"planned,lost", kWaits, kTaken}},
      {Act::kKeep, {"planned", kWell, kTaken}},
      {Act::kFree, {"planned", kWell, kTaken}},
      {Act::kChange, {"planned", kWell, kTaken}},
  };
  return kWords.at(act);
}

seconds AgeOf(const Survey::Pod& pod) {
  const json& object = *pod.event.object;
  const json& metadata = MemberAt(object, "metadata");
  auto since = ConditionTime(object, pod.known.pod->completed ? "Ready" : "PodScheduled");
  if (pod.known.pod->deleted) since = DeletionTime(metadata);
  if (!since) since = ParseTime(StringAt(metadata, "creationTimestamp"));
  return since ? AgeOf(*since) : seconds(0);
}

std::string WhyOf(const PodQuestion& question) {
  const Act act = question.decision.act;
  if (act == Act::kPlan || act == Act::kRestore) return WhyWaiting(question);
  if (act == Act::kActivate) return WhyInactive(question);
  if (act == Act::kConflict) return WhyConflict(question);
  if (act == Act::kAwaitEnd) return "waits for " + Holdup(question);
  if (act != Act::kRelease) return question.decision.problem;
  return question.leader.absent() ? "nobody leads" : "waits for kuryr-controller to release it";
}

std::string NextOf(const PodQuestion& question) {
  const Act act = question.decision.act;
  const PodFacts& pod = *question.pod.known.pod;
  if (act == Act::kNone && pod.host_network) return "nothing: the pod is on the node's network";
  if (act == Act::kNone && (pod.completed || pod.deleted))
    return "nothing: nothing of the pod is left";
  const std::string holdup = act == Act::kAwaitEnd ? Holdup(question) : "";
  return (holdup.empty() ? "" : "after " + holdup + ": ") + WordsOf(act).next;
}

}  // namespace kuryr::controller
