#pragma once

#include <chrono>
#include <condition_variable>
#include <thread>

#include "base/thread_annotations.h"
#include "base/unique_fd.h"

namespace kuryr::watcher {

/// Ends a connection that another thread uses: on Stop(), or past its deadline. Only this stops a
/// peer that sends one byte at a time to keep a library waiting. Thread-safe, except the functions
/// that set a deadline: only the thread of the requests calls them.
class ConnectionGuard {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws std::system_error if the process has no free descriptor.
  ConnectionGuard();
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;
  ~ConnectionGuard();

  /// Guards a socket that is about to be connected, instead of the previous one. Its connect fails
  /// at once after Stop() or Interrupt(), past the deadline, or if the process has no free
  /// descriptor.
  void Adopt(int socket) EXCLUDES(mutex_);

  /// A request begins: the newest connection, or the next, ends at `deadline`.
  void CutAt(Clock::time_point deadline) EXCLUDES(mutex_);
  /// Replaces the deadline, unless it has passed.
  void MoveTo(Clock::time_point deadline) EXCLUDES(mutex_);
  void NeverCut() EXCLUDES(mutex_) { MoveTo(Clock::time_point::max()); }

  /// Ends the connection and all later ones, for good.
  void Stop() noexcept EXCLUDES(mutex_);
  /// As Stop, until Resume().
  void Interrupt() noexcept EXCLUDES(mutex_);
  void Resume() noexcept EXCLUDES(mutex_);

  [[nodiscard]] bool stopped() const EXCLUDES(mutex_);
  [[nodiscard]] bool interrupted() const EXCLUDES(mutex_);
  /// Whether stopped or interrupted.
  [[nodiscard]] bool cut() const { return stopped() || interrupted(); }
  /// Whether the deadline has passed and ended the connection.
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

/// Whether a kept connection can take a request. A server that sends bytes without a request is
/// closing the connection; httplib takes TLS's close_notify for a live connection. A request
/// written then is lost, and may or may not have been read. Also true without a socket, because
/// httplib makes one.
[[nodiscard]] bool IsQuiet(int socket);

}  // namespace kuryr::watcher
