#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "controller/rounds/round.h"

namespace kuryr::controller {

/// Threads that take keys from a queue, and run a round for each key. They log an exception of a
/// round, and queue the key again: after the API server's Retry-After, at most two minutes, or else
/// rate limited. Not thread-safe.
class Workers {
 public:
  using Round = std::function<void(const Key& key)>;

  /// Borrows the queue. `make_round` is called once for each thread, from the caller's.
  Workers(RoundQueue& queue, size_t count, const std::function<Round()>& make_round);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() { Stop(); }

  /// Shuts the queue down, and returns when the rounds under way have ended.
  void Stop() noexcept;

 private:
  void Work(const Round& round);
  void Try(const Round& round, const Key& key);

  RoundQueue& queue_;
  std::vector<std::jthread> threads_;
};

}  // namespace kuryr::controller
