#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/kinds/watched_kind.h"
#include "policy/policy_compiler.h"
#include "policy/policy_verdicts.h"
#include "policy/policy_work.h"

namespace kuryr::controller {

/// The cluster's NetworkPolicies, MultiNetworkPolicies and admins' policies. For a backend that
/// enforces a kind of them, they are compiled to sets of the cluster's pods. A policy wakes its key
/// when it comes, and then when it changes or has another problem, if it is enforced. Thread-safe.
class Policies : public WatchedKind {
 public:
  using Clock = std::chrono::steady_clock;

  /// The kind of keys whose objects are the policies' names in PolicyChanges.
  static constexpr std::string_view kKind = "networkpolicy";

  explicit Policies(const KindParts& parts) : needs_(parts.needs), wake_(parts.wake) {}

  struct Policy {
    std::string kind;
    std::string api_version;
    std::string name_space;  ///< empty: the policy is an admin's
    std::string name;
    std::string uid;
    bool is_enforced = false;
    /// The first field that is not understood, and why. The policy allows less than it says.
    std::string problem;
    std::map<std::string, Clock::time_point> told;  ///< messages for its user, and when
  };
  /// An Event may go after an hour, so a problem that lasts is news again after half of it.
  static constexpr std::chrono::minutes kAgain{30};
  /// The policy of this name in PolicyChanges; nullopt: it does not exist.
  [[nodiscard]] std::optional<Policy> Find(const std::string& name) const EXCLUDES(mutex_);
  /// Notes that the policy's user is told this. False if they have been told it already.
  [[nodiscard]] bool IsNews(const std::string& name, const std::string& message) EXCLUDES(mutex_);
  /// As PolicyWork::Take.
  [[nodiscard]] uint64_t TakeWork() EXCLUDES(mutex_);

  [[nodiscard]] std::vector<WatchedPath> Paths() override;
  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  /// Tells a PolicyEnforcer of all policies and pods. Wakes every key.
  void BeginTerm(const Term& term) override EXCLUDES(mutex_);
  void EndTerm() override EXCLUDES(mutex_);
  void WriteTo(service::MetricsText& text) const override EXCLUDES(mutex_);

 private:
  [[nodiscard]] bool IsCompiled(const std::string& kind) const;
  [[nodiscard]] bool IsEnforced(const std::string& kind) const;
  void Note(const watcher::WatchEvent& policy) REQUIRES(mutex_);
  void Compile(const watcher::WatchEvent& event) REQUIRES(mutex_);
  void WarnOfOld(const watcher::WatchEvent& policy) REQUIRES(mutex_);

  const BackendNeeds needs_;
  const Wake wake_;
  mutable Mutex mutex_;
  PolicyEnforcer* enforcer_ GUARDED_BY(mutex_) = nullptr;
  std::map<std::string, Policy> policies_ GUARDED_BY(mutex_);  ///< by name in PolicyChanges
  policy::PolicyCompiler compiler_ GUARDED_BY(mutex_);
  policy::PolicyVerdicts all_ GUARDED_BY(mutex_);
  policy::PolicyWork work_ GUARDED_BY(mutex_);
  bool has_warned_of_old_ GUARDED_BY(mutex_) = false;
};

}  // namespace kuryr::controller
