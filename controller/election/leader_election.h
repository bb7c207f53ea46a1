#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/thread_annotations.h"
#include "controller/election/lease.h"
#include "watcher/api_client.h"
#include "watcher/api_config.h"

namespace kuryr::controller {

struct ElectionConfig {
  std::string name_space = "kube-system";  ///< the Lease's namespace
  std::string name = "kuryr-controller";   ///< the Lease's name
  std::string identity;                    ///< unique to this process
  /// Another process may lead after this time without a change of the Lease.
  std::chrono::milliseconds lease_duration{15'000};
  /// This process may write for this time after it sent a renewal: shorter than lease_duration.
  std::chrono::milliseconds renew_deadline{10'000};
  std::chrono::milliseconds retry_period{2'000};  ///< between two attempts
};

/// "HOST_UUID", new with every call.
[[nodiscard]] std::string NewIdentity();

/// Elects one of several processes as leader: the one that holds a Lease (coordination.k8s.io/v1),
/// by the rules of client-go's leaderelection. Each process measures by its own clock, which goes
/// on while the process or its machine sleeps; no two clocks are compared. A deleted Lease counts
/// as held by its last holder. A Lease cannot stop a request that was sent while MayWrite() and
/// arrives later; preconditions on the changed object do. Needs the rights to get, create and patch
/// leases in its namespace. The calls that block belong to one thread.
class LeaderElection {
 public:
  LeaderElection(const watcher::ApiConfig& api, ElectionConfig config);
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  /// Returns true when this process leads, false when asked to stop. Logs failures and tries again.
  /// Calls `on_wait` before it waits for the next attempt.
  [[nodiscard]] bool Acquire(
      const std::stop_token& stop, const std::function<void()>& on_wait = [] {});
  /// Renews the Lease. Returns when another process leads or may soon: then MayWrite() is false for
  /// good. Also returns when asked to stop; MayWrite() stays true then, for work under way.
  void HoldUntilLost(const std::stop_token& stop);
  /// Gives the Lease up, so that another process leads at once. To be called when no work is under
  /// way. Takes at most renew_deadline, or some seconds. Logs failures.
  void Release() noexcept;

  /// Whether this process may write now; to be asked before each write. Thread-safe.
  [[nodiscard]] bool MayWrite() const noexcept;
  /// The leader's identity, as last seen; empty if there is none. Thread-safe.
  [[nodiscard]] std::string leader() const EXCLUDES(mutex_);
  /// Why the last attempt failed; nullopt if it succeeded. Thread-safe.
  [[nodiscard]] std::optional<std::string> problem() const EXCLUDES(mutex_);

 private:
  enum class Outcome { kLeads, kOtherLeads, kRaceLost, kFailed };

  [[nodiscard]] Outcome Try(watcher::ApiClient& client);
  void Look(watcher::ApiClient& client);
  void Learn(Lease lease);
  [[nodiscard]] bool MayTake() const;
  void Write(watcher::ApiClient& client);
  [[nodiscard]] Outcome Fail(const std::string& why);
  void StopWriting() noexcept { may_write_until_ = 0; }
  void Wait(const std::stop_token& stop, std::chrono::milliseconds time) EXCLUDES(mutex_);

  const watcher::ApiConfig api_;
  const ElectionConfig config_;
  const std::string leases_;  ///< path of the namespace's Leases
  std::optional<Lease> seen_;
  std::chrono::nanoseconds seen_since_{};     ///< when its record last changed; time since boot
  bool newest_ = false;                       ///< seen_ is the answer to a write of this process
  bool wrote_ = false;                        ///< this process wrote since the last Release
  std::atomic<int64_t> may_write_until_ = 0;  ///< nanoseconds since boot
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::string leader_ GUARDED_BY(mutex_);
  std::optional<std::string> problem_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
