#include "compiled_cluster.h"

#include <gtest/gtest.h>

namespace kuryr::policy {
namespace {

void ExpectWhole(const CompiledPolicy& policy) {
  for (const PolicyRule& rule : policy.rules) {
    EXPECT_EQ(Isolates(policy, rule.direction), policy.tier == PolicyTier::kNetwork);
    EXPECT_NE(rule.any_peer, !rule.peers.empty() || !rule.blocks.empty());
    EXPECT_NE(rule.any_port, !rule.ports.empty());
  }
}

}  // namespace

void CompiledCluster::Apply(const PolicyChanges& changes) {
  for (const auto& [name, policy] : changes.policies) {
    const auto known = verdicts_.policies().find(name);
    const bool is_known = known != verdicts_.policies().end();
    if (policy) ExpectWhole(*policy);
    const bool has_new_error = changes.errors.contains(name) || verdicts_.errors().contains(name);
    EXPECT_TRUE(policy ? !is_known || known->second != *policy || has_new_error : is_known)
        << name << " has not changed";
  }
  for (const auto& [name, error] : changes.errors) EXPECT_TRUE(changes.policies.contains(name));
  for (const auto& [uid, sets] : changes.pods)
    EXPECT_NE(SetsOf(uid), sets) << uid << " has not changed";
  verdicts_.Apply(changes);
}

std::string CompiledCluster::ErrorOf(const std::string& name) const {
  const auto error = verdicts_.errors().find(name);
  return error == verdicts_.errors().end() ? "" : error->second;
}

std::set<PodSet> CompiledCluster::SetsOf(const std::string& uid) const {
  const auto pod = verdicts_.pods().find(uid);
  return pod == verdicts_.pods().end() ? std::set<PodSet>() : pod->second;
}

void CompiledCluster::ExpectNamedSets() const {
  std::set<PodSet> named;
  for (const auto& [name, policy] : verdicts_.policies()) {
    named.insert(policy.subject);
    for (const PolicyRule& rule : policy.rules) {
      named.insert(rule.subject);
      named.insert(rule.peers.begin(), rule.peers.end());
    }
  }
  for (const auto& [uid, sets] : verdicts_.pods()) {
    for (const PodSet& set : sets) EXPECT_TRUE(named.contains(set)) << set;
  }
}

}  // namespace kuryr::policy
