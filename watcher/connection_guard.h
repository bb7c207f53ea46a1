#pragma once

#include <chrono>
#include <condition_variable>
#include <thread>

#include "base/thread_annotations.h"
#include "base/unique_fd.h"

namespace kuryr::watcher {

/// Ends a connection that another thread is busy with, whatever it is doing there: on Stop(), or
/// when its time is up. The only hold there is on a peer that keeps a library waiting one byte at a
/// time. Thread-safe, except what sets a deadline: that belongs to the thread of the requests.
class ConnectionGuard {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws std::system_error where the process has no descriptor left.
  ConnectionGuard();
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;
  ~ConnectionGuard();

  /// Takes charge of a socket that is about to be connected, in place of the one before. After
  /// Stop() or Interrupt(), past the deadline, or where the process has no descriptor left to cut
  /// it by, its connect fails at once.
  void Adopt(int socket) EXCLUDES(mutex_);

  /// A request begins: the newest connection, or the next, ends at `deadline`.
  void CutAt(Clock::time_point deadline) EXCLUDES(mutex_);
  /// Replaces the deadline, unless it has passed.
  void MoveTo(Clock::time_point deadline) EXCLUDES(mutex_);
  void NeverCut() EXCLUDES(mutex_) { MoveTo(Clock::time_point::max()); }

  /// For good.
  void Stop() noexcept EXCLUDES(mutex_);
  /// As Stop, until Resume().
  void Interrupt() noexcept EXCLUDES(mutex_);
  void Resume() noexcept EXCLUDES(mutex_);

  [[nodiscard]] bool stopped() const EXCLUDES(mutex_);
  [[nodiscard]] bool interrupted() const EXCLUDES(mutex_);
  /// Either of them.
  [[nodiscard]] bool cut() const { return stopped() || interrupted(); }
  /// The deadline has passed and ended what there was.
  [[nodiscard]] bool timed_out() const EXCLUDES(mutex_);

 private:
  void Run(const std::stop_token& stop) EXCLUDES(mutex_);
  void Cut() REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  UniqueFd socket_ GUARDED_BY(mutex_);  ///< a duplicate
  Clock::time_point deadline_ GUARDED_BY(mutex_) = Clock::time_point::max();
  Clock::time_point wakes_at_ GUARDED_BY(mutex_) = Clock::time_point::max();  ///< the timer
  bool timed_out_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool interrupted_ GUARDED_BY(mutex_) = false;
  std::jthread timer_;  ///< started with the first deadline
};

/// Whether a kept connection can take a request. A server that says something unasked is closing
/// it; TLS's close_notify passes for life with httplib. What is written then is lost, and nobody
/// knows whether it was read. True also without a socket: httplib makes one.
[[nodiscard]] bool IsQuiet(int socket);

}  // namespace kuryr::watcher
