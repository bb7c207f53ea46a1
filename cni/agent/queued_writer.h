#pragma once

#include <condition_variable>
#include <deque>
#include <stop_token>
#include <thread>

#include "base/log.h"
#include "base/thread_annotations.h"
#include "cni/pod/api_writer.h"

namespace kuryr::cni {

/// Makes the writes of a whole node, one after the other, in a thread of its own. While the API
/// server does not keep up, the oldest of kMost are dropped. Thread-safe.
class QueuedWriter : public ApiWriter {
 public:
  static constexpr size_t kMost = 256;

  explicit QueuedWriter(const watcher::ApiConfig& config);
  QueuedWriter(const QueuedWriter&) = delete;
  QueuedWriter& operator=(const QueuedWriter&) = delete;
  /// Drops what is not written by then.
  ~QueuedWriter() override;

  void WriteLater(ApiWrite write) override EXCLUDES(mutex_);

 private:
  struct Queued {
    ApiWrite write;
    LogContext log_context;  ///< of the call that asked for the write
  };

  void Run(const std::stop_token& stop) EXCLUDES(mutex_);

  watcher::ApiClient client_;  ///< the thread's; Stop() is anybody's
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Queued> queue_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace kuryr::cni
