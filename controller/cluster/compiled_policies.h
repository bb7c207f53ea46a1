#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/facets.h"
#include "controller/kinds/key.h"
#include "policy/policy_compiler.h"
#include "policy/policy_verdicts.h"
#include "policy/policy_work.h"
#include "watcher/event_pipeline.h"

namespace kuryr::controller {

/// The cluster's NetworkPolicies, MultiNetworkPolicies and admins' policies as sets of its pods,
/// for a backend that enforces them. Watched if the backend asks for policies. Thread-safe.
class CompiledPolicies : public watcher::EventConsumer {
 public:
  /// The kinds that are compiled beside NetworkPolicies.
  struct Kinds {
    bool multi = false;   ///< MultiNetworkPolicies
    bool admins = false;  ///< admins' policies
  };
  /// `wake` is called with the key of a policy that has another error, whatever changed it.
  CompiledPolicies(Kinds kinds, Wake wake) : kinds_(kinds), wake_(std::move(wake)) {}

  /// Tells `enforcer` of all policies and pods, and of each later change. The caller has read all
  /// policies, namespaces and pods. `enforcer` is borrowed, and may be null.
  void StartTelling(PolicyEnforcer* enforcer) EXCLUDES(mutex_);
  void StopTelling() EXCLUDES(mutex_);

  /// The first field of the policy that is not understood, and why; nullopt if there is none. The
  /// policy allows less than it says. Its name is as in PolicyChanges.
  [[nodiscard]] std::optional<std::string> ErrorOf(const std::string& name) const EXCLUDES(mutex_);

  /// As PolicyWork::Take.
  [[nodiscard]] uint64_t TakeWork() EXCLUDES(mutex_);

  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  [[nodiscard]] policy::PolicyChanges Compile(const watcher::WatchEvent& event) REQUIRES(mutex_);

  const Kinds kinds_;
  const Wake wake_;
  mutable Mutex mutex_;
  PolicyEnforcer* enforcer_ GUARDED_BY(mutex_) = nullptr;
  policy::PolicyCompiler compiler_ GUARDED_BY(mutex_);
  policy::PolicyVerdicts all_ GUARDED_BY(mutex_);
  policy::PolicyWork work_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
