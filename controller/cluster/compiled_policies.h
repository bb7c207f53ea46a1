#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/facets.h"
#include "controller/policy/policy_compiler.h"
#include "watcher/event_pipeline.h"

namespace kuryr::controller {

/// The cluster's NetworkPolicies as sets of its pods, for a backend that enforces them. Watched if
/// the backend asks for policies. Thread-safe.
class CompiledPolicies : public watcher::EventConsumer {
 public:
  /// Tells `enforcer`, which is borrowed and may be null, of all policies and pods, and of each
  /// change. All are known.
  void StartTelling(PolicyEnforcer* enforcer) EXCLUDES(mutex_);
  void StopTelling() EXCLUDES(mutex_);

  /// What of the policy NAMESPACE/NAME is not understood, and so not allowed; nullopt: nothing.
  [[nodiscard]] std::optional<std::string> ErrorOf(const std::string& name) const EXCLUDES(mutex_);

  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  [[nodiscard]] PolicyChanges Compile(const watcher::WatchEvent& event) REQUIRES(mutex_);
  /// Makes `all_` what the changes say.
  void Keep(const PolicyChanges& changes) REQUIRES(mutex_);

  mutable Mutex mutex_;
  PolicyEnforcer* enforcer_ GUARDED_BY(mutex_) = nullptr;
  PolicyCompiler compiler_ GUARDED_BY(mutex_);
  PolicyChanges all_ GUARDED_BY(mutex_);  ///< since the beginning
};

}  // namespace kuryr::controller
