#pragma once

#include <string>

#include "policy/policy_verdicts.h"

namespace kuryr::policy {

/// A backend that has been told of policies and pods, and knows which traffic passes.
class CompiledCluster {
 public:
  /// Fails the test if the changes tell what is known already, or break CompiledPolicy's promises.
  void Apply(const PolicyChanges& changes);

  [[nodiscard]] bool MaySend(const Traffic& traffic) const {
    return verdicts_.OnSending(traffic).is_allowed();
  }
  [[nodiscard]] bool MayReceive(const Traffic& traffic) const {
    return verdicts_.OnReceiving(traffic).is_allowed();
  }
  [[nodiscard]] const CompiledPolicy& policy(const std::string& name) const {
    return verdicts_.policies().at(name);
  }
  /// The field of the policy that is not understood, and why; empty: there is none.
  [[nodiscard]] std::string ErrorOf(const std::string& name) const;
  [[nodiscard]] std::set<PodSet> SetsOf(const std::string& uid) const;
  /// Fails the test if a pod is in a set that no policy names.
  void ExpectNamedSets() const;

  bool operator==(const CompiledCluster&) const = default;

 private:
  PolicyVerdicts verdicts_;
};

}  // namespace kuryr::policy
