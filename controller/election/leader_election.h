#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "base/thread_annotations.h"
#include "controller/election/lease.h"
#include "watcher/api_client.h"
#include "watcher/api_config.h"

namespace kuryr::controller {

struct ElectionConfig {
  std::string name_space = "kube-system";  ///< of the Lease
  std::string name = "kuryr-controller";   ///< of the Lease
  std::string identity;                    ///< of this process and no other
  /// After so long without a change of the Lease another process may lead.
  std::chrono::milliseconds lease_duration{15'000};
  /// So long after a renewal was sent its process may write: shorter than lease_duration.
  std::chrono::milliseconds renew_deadline{10'000};
  std::chrono::milliseconds retry_period{2'000};  ///< between two tries
};

/// "HOST_UUID", new with every call.
[[nodiscard]] std::string NewIdentity();

/// One of several processes leads: the one that holds a Lease (coordination.k8s.io/v1), by the
/// rules of client-go's leaderelection. Each measures by its own clock, which goes on while the
/// process or its machine sleeps; no two clocks are compared. A Lease that was deleted counts as
/// held by whom it named last. What no Lease can prevent: a request that was sent while
/// MayWrite() and arrives later; preconditions on what it changes do. Needs the rights to get,
/// create and patch leases in its namespace. The calls that block belong to one thread.
class LeaderElection {
 public:
  LeaderElection(const watcher::ApiConfig& api, ElectionConfig config);
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  /// Returns true when this process leads, false when asked to stop. Failures are logged and tried
  /// again.
  [[nodiscard]] bool Acquire(const std::stop_token& stop);
  /// Renews the Lease. Returns when another leads or may soon: then MayWrite() is false for good.
  /// When asked to stop, it returns as well, and MayWrite() stays true for what is under way.
  void HoldUntilLost(const std::stop_token& stop);
  /// The Lease is nobody's, so that another leads at once: to be called when nothing is under way
  /// any more. Takes at most renew_deadline, or some seconds. A failure is logged.
  void Release() noexcept;

  /// To be asked before each write. Thread-safe.
  [[nodiscard]] bool MayWrite() const noexcept;
  /// Who leads, as last seen; empty for nobody. Thread-safe.
  [[nodiscard]] std::string leader() const EXCLUDES(mutex_);
  /// Why the last try failed; nothing when it did not. Thread-safe.
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
  const std::string leases_;  ///< path of all in the namespace
  std::optional<Lease> seen_;
  std::chrono::nanoseconds seen_since_{};     ///< its record is unchanged; since boot
  bool newest_ = false;                       ///< seen_ is the answer to our own write
  bool wrote_ = false;                        ///< since the last Release
  std::atomic<int64_t> may_write_until_ = 0;  ///< nanoseconds since boot
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::string leader_ GUARDED_BY(mutex_);
  std::optional<std::string> problem_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
