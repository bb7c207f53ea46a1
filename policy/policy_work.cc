#include "policy/policy_work.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"

namespace kuryr::policy {
namespace {

/// A rule is repeated for each protocol.
int64_t WeightOf(const PolicyRule& rule) {
  std::set<std::string> protocols;
  for (const PortRange& range : rule.ports) protocols.insert(range.protocol);
  const size_t peers = 1 + rule.networks.size() + rule.peers.size();
  return static_cast<int64_t>(peers * std::max<size_t>(protocols.size(), 1) + rule.ports.size());
}

}  // namespace

void PolicyWork::Weigh(const CompiledPolicy& policy, int64_t times) {
  for (const PolicyRule& rule : policy.rules) {
    const auto weight = weights_.try_emplace(rule.subject).first;
    weight->second += times * WeightOf(rule);
    if (weight->second == 0) weights_.erase(weight);
  }
}

void PolicyWork::Note(const PolicyChanges& changes, const PolicyVerdicts& known) {
  for (const auto& [name, policy] : changes.policies) {
    const auto before = known.policies().find(name);
    if (before != known.policies().end()) Weigh(before->second, -1);
    if (policy) Weigh(*policy, 1);
  }
  static const std::set<PodSet> kNone;
  for (const auto& [member, sets] : changes.pods) {
    if (without_node_.contains(PodOf(member))) continue;
    const auto before = known.pods().find(member);
    std::ranges::set_symmetric_difference(before == known.pods().end() ? kNone : before->second,
                                          sets, std::inserter(changed_, changed_.end()));
  }
}

void PolicyWork::NotePod(const std::string& uid, bool has_node, const PolicyVerdicts& known) {
  if (!has_node) {
    without_node_.insert(uid);
    return;
  }
  if (without_node_.erase(uid) == 0) return;
  for (auto member = known.pods().lower_bound(uid);
       member != known.pods().end() && member->first.starts_with(uid); ++member) {
    if (PodOf(member->first) == uid) changed_.insert(member->second.begin(), member->second.end());
  }
}

uint64_t PolicyWork::Take() {
  int64_t work = 0;
  for (const PodSet& set : std::exchange(changed_, {})) {
    const auto weight = weights_.find(set);
    if (weight != weights_.end()) work += weight->second;
  }
  return static_cast<uint64_t>(work);
}

bool HasNode(const nlohmann::json& pod) {
  return !StringAt(MemberAt(pod, "spec"), "nodeName").empty();
}

}  // namespace kuryr::policy
