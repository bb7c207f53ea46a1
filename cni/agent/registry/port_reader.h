#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "base/backoff.h"
#include "base/thread_annotations.h"
#include "cni/agent/registry/absent_schedule.h"
#include "watcher/api_client.h"
#include "watcher/watcher.h"

namespace kuryr::cni {

/// The KuryrPorts of the pods that are being plugged, each asked for by its name. The cost for the
/// API server does not grow with the cluster. (By a label it would look at every KuryrPort for each
/// list, and at every node's watch for each change.) One that an ADD still waits for is watched,
/// from the version of the answer on.
/// Where the API server has no KuryrPorts, it is asked rarely. Thread-safe.
class PortReader {
 public:
  using Clock = std::chrono::steady_clock;

  /// The result of a question.
  enum class Outcome { kFound, kMissing, kAbsent, kFailed };
  static constexpr size_t kOutcomes = 4;

  /// All outlive the reader, and are called from its threads.
  struct Outside {
    watcher::EventHandler& handler;
    /// Whether the handler knows all that anybody waits for of the KuryrPort NAMESPACE/NAME.
    std::function<bool(const std::string& key)> is_complete;
    watcher::FailureHandler on_failure;
  };

  struct Counts {
    std::array<uint64_t, kOutcomes> questions{};  ///< by Outcome
    size_t watched = 0;                           ///< now
    uint64_t failed_watches = 0;                  ///< tries to watch one
    /// Since when every question has failed, where one was answered before.
    std::optional<Clock::time_point> failing_since;
  };

  PortReader(const watcher::ApiConfig& config, Outside outside);
  PortReader(const PortReader&) = delete;
  PortReader& operator=(const PortReader&) = delete;
  ~PortReader() { Stop(); }

  /// From now on the handler hears of the KuryrPort NAMESPACE/NAME, its present state first: ADDED,
  /// or DELETED when there is none. Until as many calls of Unfollow.
  void Follow(const std::string& key) EXCLUDES(mutex_);
  void Unfollow(const std::string& key) EXCLUDES(mutex_);

  /// After it the handler is not called any more.
  void Stop() EXCLUDES(mutex_);

  [[nodiscard]] Counts counts() const EXCLUDES(mutex_);

 private:
  struct Followed {
    int times = 0;  ///< negative while an Unfollow is ahead of its Follow
    bool watched = false;
  };

  struct Answer {
    Outcome outcome = Outcome::kFailed;
    watcher::Beginning state = {};  ///< kFound, kMissing
    std::chrono::seconds retry_after{0};
  };

  void Run() EXCLUDES(mutex_);
  /// Empty when it is to stop.
  [[nodiscard]] std::string Next() EXCLUDES(mutex_);
  [[nodiscard]] Answer Ask(const std::string& key);
  /// Throws what ApiClient throws.
  [[nodiscard]] Answer Read(const std::string& key);
  void Note(const std::string& key, Answer answer) EXCLUDES(mutex_);
  void OnWatchFailure(const std::exception_ptr& failure) EXCLUDES(mutex_);
  /// Last in line.
  void Queue(const std::string& key) REQUIRES(mutex_);

  const Outside outside_;
  watcher::ApiClient client_;
  watcher::Watcher watcher_;
  Backoff backoff_;

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::map<std::string, Followed> followed_ GUARDED_BY(mutex_);
  std::deque<std::string> queue_ GUARDED_BY(mutex_);
  Clock::time_point not_before_ GUARDED_BY(mutex_);
  AbsentSchedule absent_ GUARDED_BY(mutex_);
  bool answered_ GUARDED_BY(mutex_) = false;  ///< once, by a server that has KuryrPorts
  bool is_absent_ GUARDED_BY(mutex_) = false;
  Counts counts_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace kuryr::cni
