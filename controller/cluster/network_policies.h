#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/kinds/key.h"
#include "watcher/event_pipeline.h"

namespace kuryr::controller {

inline constexpr const char* kMultiPolicy = "MultiNetworkPolicy";

/// The cluster's NetworkPolicies, MultiNetworkPolicies and admins' policies. Each one wakes its key
/// when it comes, and at each change if a backend enforces it. An Event then tells its user the
/// part that is not enforced. Thread-safe.
class NetworkPolicies : public watcher::EventConsumer {
 public:
  using Clock = std::chrono::steady_clock;

  /// Of keys whose objects are the policies' names in PolicyChanges.
  static constexpr std::string_view kKind = "networkpolicy";

  /// The kinds that a backend enforces.
  struct Enforced {
    bool policies = false;  ///< NetworkPolicies
    bool admins = false;    ///< admins' policies
    bool decodes = false;   ///< Policy::problem is wanted of them, as nobody compiles them here
    bool multi = false;     ///< MultiNetworkPolicies
  };
  NetworkPolicies(Enforced enforced, Wake wake) : enforced_(enforced), wake_(std::move(wake)) {}

  /// Wakes the keys of all policies that are known, and of later ones.
  void StartTelling() EXCLUDES(mutex_);

  struct Policy {
    std::string kind;
    std::string api_version;
    std::string name_space;  ///< empty: the policy is an admin's
    std::string name;
    std::string uid;
    bool is_enforced = false;
    std::string problem;                            ///< the field that is not understood, and why
    std::map<std::string, Clock::time_point> told;  ///< messages for its user, and when
  };
  /// An Event may go after an hour, so a problem that lasts is news again after half of it.
  static constexpr std::chrono::minutes kAgain{30};
  /// The policy of this name in PolicyChanges; nullopt: it does not exist.
  [[nodiscard]] std::optional<Policy> Find(const std::string& name) const EXCLUDES(mutex_);
  /// Notes that the policy's user is told this. False if they have been told it already.
  [[nodiscard]] bool IsNews(const std::string& name, const std::string& message) EXCLUDES(mutex_);
  /// How many policies no backend enforces.
  [[nodiscard]] size_t CountNotEnforced() const EXCLUDES(mutex_);

  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

 private:
  void OnPresent(const watcher::WatchEvent& event) EXCLUDES(mutex_);
  [[nodiscard]] bool IsEnforced(const std::string& kind) const;
  void TellOfOld(const watcher::WatchEvent& event) REQUIRES(mutex_);

  const Enforced enforced_;
  const Wake wake_;
  mutable Mutex mutex_;
  std::map<std::string, Policy> policies_ GUARDED_BY(mutex_);  ///< by name in PolicyChanges
  bool has_told_of_old_ GUARDED_BY(mutex_) = false;
};

}  // namespace kuryr::controller
