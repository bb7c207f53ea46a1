#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <string>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/config.h"

namespace kuryr::controller {

/// The backend of kuryr.conf while one command runs. It writes nothing to its server before the
/// first ReleaseNow, so that a command that only asks changes nothing. Not thread-safe.
class CommandBackend {
 public:
  explicit CommandBackend(const Config& config);

  [[nodiscard]] Backend& get() noexcept { return *backend_; }
  /// Releases what the owner has, and waits for the end. Throws std::runtime_error if that takes
  /// longer than a minute.
  void ReleaseNow(const std::string& owner_id);

 private:
  std::atomic<bool> may_write_ = false;
  Mutex mutex_;
  std::condition_variable_any woken_;
  size_t wakes_ GUARDED_BY(mutex_) = 0;
  const std::shared_ptr<Backend> backend_;
};

}  // namespace kuryr::controller
