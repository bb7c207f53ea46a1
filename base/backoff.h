#pragma once

#include <chrono>
#include <random>

namespace kuryr {

/// Exponential delays with decorrelated jitter: each between `base` and three times the one before,
/// at most `cap`. Not thread-safe.
class Backoff {
 public:
  using Milliseconds = std::chrono::milliseconds;

  explicit Backoff(Milliseconds base = Milliseconds(500), Milliseconds cap = Milliseconds(30'000))
      : base_(base), cap_(cap), last_(base), random_(std::random_device{}()) {}

  [[nodiscard]] Milliseconds Next();
  void Reset() { last_ = base_; }

 private:
  const Milliseconds base_;
  const Milliseconds cap_;
  Milliseconds last_;
  std::minstd_rand random_;
};

}  // namespace kuryr
