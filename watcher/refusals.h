#pragma once

#include <chrono>

namespace kuryr::watcher {

/// How long a server has done nothing but refuse us (401, 403, untrusted). An API server that has
/// just started refuses whom it will know in a moment: it answers 403 until it has read the roles.
/// A token or certificate may also just be replaced. Not thread-safe.
class Refusals {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Refusals(std::chrono::seconds grace) : grace_(grace) {}

  /// One more try was refused.
  void Add(Clock::time_point now);
  /// A try ended otherwise.
  void Clear() { *this = Refusals(grace_); }

  [[nodiscard]] unsigned tries() const noexcept { return tries_; }
  /// Three tries, and as long as the grace: no longer to be taken for a server's start.
  [[nodiscard]] bool lasted() const noexcept { return lasted_; }

 private:
  std::chrono::seconds grace_;
  unsigned tries_ = 0;
  bool lasted_ = false;
  Clock::time_point first_;
};

}  // namespace kuryr::watcher
