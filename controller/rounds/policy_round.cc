#include "controller/rounds/policy_round.h"

#include <optional>
#include <string>

namespace kuryr::controller {
namespace {

constexpr const char* kNotEnforced =
    "kuryr-controller enforces no policy of this kind: the network lets through what it forbids";

}  // namespace

void PolicyRound::Round(const Key& key) {
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

}  // namespace kuryr::controller
