#pragma once

#include <chrono>

namespace kuryr::watcher {

/// Tracks how long a server has only refused requests (401, 403, untrusted). A newly started API
/// server answers 403 until it has read the roles. A token or certificate may also have just been
/// replaced. Not thread-safe.
class Refusals {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Refusals(std::chrono::seconds grace) : grace_(grace) {}

  /// Counts a refused try.
  void Add(Clock::time_point now);
  /// Forgets the refusals after a try that ended otherwise.
  void Clear() { *this = Refusals(grace_); }

  [[nodiscard]] unsigned tries() const noexcept { return tries_; }
  /// True after three tries and the grace: this is no longer a server's start.
  [[nodiscard]] bool lasted() const noexcept { return lasted_; }

 private:
  std::chrono::seconds grace_;
  unsigned tries_ = 0;
  bool lasted_ = false;
  Clock::time_point first_;
};

}  // namespace kuryr::watcher
