#include "controller/backends/ovn/admin_ladder.h"

#include <algorithm>
#include <array>
#include <optional>

#include "policy/policy_verdicts.h"

namespace kuryr::controller::ovn {
namespace {

constexpr int kTop = 32000;
constexpr int kBottom = kAllowPriority + kAllowPriorities;  ///< of admins' rules
constexpr int kBaselineTop = kDropPriority - 1;
constexpr int kBaselineBottom = 500;

/// The rules of one direction, in order.
std::vector<AdminRule> InOrder(const std::map<std::string, policy::CompiledPolicy>& policies,
                               policy::PolicyTier tier, policy::TrafficDirection direction) {
  std::vector<AdminRule> rules;
  for (const std::string& policy : policy::AdminOrder(policies, tier)) {
    size_t number = 0;
    for (const policy::PolicyRule& rule : policies.at(policy).rules) {
      const std::string name = policy + "/" + std::to_string(number++);
      if (rule.direction == direction) rules.push_back({policy, name, rule, 0});
    }
  }
  return rules;
}

/// There is no priority left: the rule fails closed. False: it is left out.
bool FailClosed(AdminRule& rule, int priority) {
  if (rule.rule.action == policy::PolicyAction::kAllow) return false;
  rule.rule.action = policy::PolicyAction::kDeny;
  rule.priority = priority;
  return true;
}

}  // namespace

AdminLadder::AdminLadder(const std::map<std::string, policy::CompiledPolicy>& policies)
    : lowest_(kBaselineTop) {
  for (const auto direction :
       {policy::TrafficDirection::kIngress, policy::TrafficDirection::kEgress})
    AddBaseline(policies, direction);
  for (const auto direction :
       {policy::TrafficDirection::kIngress, policy::TrafficDirection::kEgress})
    AddRules(policies, direction);
}

int AdminLadder::Within(const AdminRule& passing, int priority) {
  return passing.priority - (kAllowPriority - priority);
}

int AdminLadder::RestOf(const AdminRule& passing) const { return Within(passing, lowest_ - 1); }

/// Rules of one action that follow each other share a priority, or a stretch.
void AdminLadder::AddRules(const std::map<std::string, policy::CompiledPolicy>& policies,
                           policy::TrafficDirection direction) {
  const int stretch = kAllowPriority - lowest_ + 2;
  std::optional<policy::PolicyAction> last;
  int priority = 0;
  int next = kTop;
  for (AdminRule& rule : InOrder(policies, policy::PolicyTier::kAdmin, direction)) {
    if (last != rule.rule.action) {
      last = rule.rule.action;
      priority = next;
      next -= *last == policy::PolicyAction::kPass ? stretch : 1;
    }
    rule.priority = priority;
    if (next > kBottom || FailClosed(rule, kBottom)) rules_.push_back(std::move(rule));
  }
}

void AdminLadder::AddBaseline(const std::map<std::string, policy::CompiledPolicy>& policies,
                              policy::TrafficDirection direction) {
  std::optional<policy::PolicyAction> last;
  int priority = kBaselineTop + 1;
  for (AdminRule& rule : InOrder(policies, policy::PolicyTier::kBaseline, direction)) {
    if (last != rule.rule.action) {
      last = rule.rule.action;
      --priority;
    }
    rule.priority = priority;
    if (priority > kBaselineBottom || FailClosed(rule, kBaselineBottom)) {
      lowest_ = std::min(lowest_, rule.priority);
      baseline_.push_back(std::move(rule));
    }
  }
}

}  // namespace kuryr::controller::ovn
