#include "controller/rounds/telling_rounds.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace kuryr::controller {
namespace {

constexpr const char* kNotEnforced =
    "kuryr-controller enforces no policy of this kind: the network lets through what it forbids";

}  // namespace

void PolicyRound::Look(const Key& key) {
  const auto policy = policies_.Find(key.object);
  if (!policy) return;
  const auto tell = [&](const char* reason, const std::string& message) {
    if (!policies_.IsNews(key.object, message)) return;
    reporter_.TellOf({.name_space = policy->name_space,
                      .name = policy->name,
                      .uid = policy->uid,
                      .kind = policy->kind,
                      .api_version = policy->api_version},
                     reason, message, writer_);
  };
  if (!policy->is_enforced) return tell("KuryrPolicyNotEnforced", kNotEnforced);
  if (!policy->problem.empty())
    tell("KuryrPolicyNotUnderstood", "allows less than it says: " + policy->problem);
  const auto refusal = enforcer_ == nullptr ? std::nullopt : enforcer_->FindRefusal(key.object);
  if (refusal) tell("KuryrPolicyRefused", "not all of it is enforced yet: " + *refusal);
}

void ServiceRound::Look(const Key& key) {
  const auto problem = balancer_ == nullptr ? std::nullopt : balancer_->WhyNotBalanced(key.object);
  const auto uid = problem ? services_.UidForNews(key.object, *problem) : std::nullopt;
  if (!uid) return;
  const size_t slash = key.object.find('/');
  reporter_.TellOf({.name_space = key.object.substr(0, slash),
                    .name = key.object.substr(slash + 1),
                    .uid = *uid,
                    .kind = "Service"},
                   "KuryrServiceNotBalanced",
                   "kube-proxy serves pods, and policies do not hold: " + *problem, writer_);
}

void LaneRound::Look(const Key& key) {
  const auto waiting = find_(key.object);
  if (!waiting) return;
  const watcher::WatchEvent& event = waiting->event;
  reporter_.TellOf({.name_space = event.name_space,
                    .name = event.name,
                    .uid = event.uid,
                    .kind = event.kind,
                    .api_version = StringAt(*event.object, "apiVersion")},
                   "KuryrChangesTooOften",
                   "waits, for others' sake: changes in " + LaneOf(event).value_or("") +
                       " are too many or too large, and each one is followed by a pause, now of " +
                       std::to_string(waiting->pause.count()) +
                       " s. Change its objects less often, or make them smaller",
                   writer_);
}

}  // namespace kuryr::controller
