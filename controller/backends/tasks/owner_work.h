#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/backoff.h"
#include "base/thread_annotations.h"
#include "controller/plan/plan_error.h"
#include "controller/plan/plan_request.h"
#include "service/work_queue.h"

namespace kuryr::controller::tasks {

/// The tasks of a backend that asks a server: its threads run one task at a time for each owner.
/// A plan that failed is tried again after a delay that grows; until then, Plan repeats the error.
/// The backend keeps its own knowledge of owners under the same lock, so that both change at once.
/// No task and no hook runs under the lock. Thread-safe.
class OwnerWork {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Task {
    kVerify,   ///< something that the owner has may be gone from the server
    kUpdate,   ///< what the owner has is to change at the server
    kPlan,     ///< the request is to be met
    kSearch,   ///< the server may have something of the owner's that the backend does not know
    kRelease,  ///< nothing of the owner's may be left at the server
  };
  struct Hooks {
    std::function<bool()> may_write;  ///< while false, no task begins
    /// Runs the task; may block. The error is why it is to be tried again. A task that throws is
    /// logged and repeated.
    std::function<std::optional<PlanError>(Task task, const PlanRequest& request)> run;
    /// A task of the owner has ended. The owner of a Release may be its id alone.
    std::function<void(const Owner& owner)> wake;
  };
  struct Times {
    std::chrono::milliseconds retry_least;  ///< Backoff
    std::chrono::milliseconds retry_most;   ///< Backoff
  };
  enum class Opened { kNew, kHeld, kReleasing };

  OwnerWork(Hooks hooks, Times times, size_t threads);
  OwnerWork(const OwnerWork&) = delete;
  OwnerWork& operator=(const OwnerWork&) = delete;
  ~OwnerWork() { Stop(); }

  /// Ends the threads for good, and waits for tasks that are under way.
  void Stop();

  [[nodiscard]] Mutex& mutex() const KURYR_TSA(lock_returned(mutex_)) { return mutex_; }

  /// The owner is known from now on. kNew: it was not, or all that it had has been released.
  Opened Open(const Owner& owner) REQUIRES(mutex_);
  [[nodiscard]] bool IsKnown(const std::string& id) const REQUIRES(mutex_);
  /// Known, and not being released.
  [[nodiscard]] bool IsHeld(const std::string& id) const REQUIRES(mutex_);
  /// Queues kPlan for an owner that is held, unless it is queued for the same interfaces. Throws
  /// the PlanError of the last try while its delay lasts.
  void Plan(const PlanRequest& request) REQUIRES(mutex_);
  /// Queues kVerify for an owner that is held.
  void Verify(const std::string& id) REQUIRES(mutex_);
  /// Queues kUpdate for an owner that is held. One that fails is repeated after a delay that grows.
  void Update(const std::string& id) REQUIRES(mutex_);
  /// Queues kSearch for an owner that is held.
  void SearchAfter(const std::string& id, Clock::duration delay) REQUIRES(mutex_);
  /// Queues kRelease. True once when it has ended, and for an unknown owner: it is forgotten then.
  bool Release(const std::string& id) REQUIRES(mutex_);

  /// The part of the error's retry_after that counts: no task begins during it.
  [[nodiscard]] static std::optional<std::chrono::milliseconds> RestOf(const PlanError& error);

 private:
  enum class Life { kHeld, kReleasing, kReleased };
  struct Failure {
    PlanError error;
    std::vector<InterfaceRequest> interfaces;  ///< that could not be planned
    Clock::time_point until;
  };
  struct Slot {
    PlanRequest request;  ///< its interfaces are those of a plan that is queued or under way
    Life life = Life::kHeld;
    std::optional<Failure> failure;
    std::unique_ptr<Backoff> backoff;  ///< since the last plan that succeeded
    bool doubted = false;              ///< kVerify is queued
    bool outdated = false;             ///< kUpdate is queued
    std::optional<Clock::time_point> search_at;
  };

  [[nodiscard]] Slot* HeldSlot(const std::string& id) REQUIRES(mutex_);
  void Work();
  void Round(const std::string& id) EXCLUDES(mutex_);
  /// The next task, and the request for it.
  [[nodiscard]] std::optional<Task> Begin(const std::string& id, PlanRequest& request)
      EXCLUDES(mutex_);
  void Finish(Task task, const PlanRequest& request, const std::optional<PlanError>& error)
      EXCLUDES(mutex_);
  void FinishPlan(Slot& slot, const PlanRequest& request, const std::optional<PlanError>& error)
      REQUIRES(mutex_);
  [[nodiscard]] Clock::duration DelayOf(Slot& slot, const PlanError& error) REQUIRES(mutex_);

  const Hooks hooks_;
  const Times times_;
  service::WorkQueue queue_;  ///< of owners' ids
  mutable Mutex mutex_;
  std::unordered_map<std::string, Slot> slots_ GUARDED_BY(mutex_);  ///< by the owner's id
  Clock::time_point throttled_until_ GUARDED_BY(mutex_);            ///< by the server, for all
  std::vector<std::jthread> threads_;
};

}  // namespace kuryr::controller::tasks
