#pragma once

#include <chrono>
#include <condition_variable>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "tests/fake_apiserver/http_message.h"

namespace kuryr::fake {

/// One request as it arrived.
struct LoggedRequest {
  std::string method;
  std::string target;  // path and query, as sent
  std::string path;
  std::string verb;           // get list watch ...; empty if the path is no resource
  std::string authorization;  // the header
  std::string user_agent;
  std::string content_type;
  std::string body;
};

/// All requests since the start, except those to /fake. Thread-safe.
class RequestLog {
 public:
  void Add(LoggedRequest request) EXCLUDES(mutex_);
  [[nodiscard]] std::vector<LoggedRequest> All() const EXCLUDES(mutex_);
  /// Waits for `count` requests of that `verb` (or method) whose path starts with `path_prefix`;
  /// either may be empty. False when `timeout` passes first.
  [[nodiscard]] bool WaitFor(const std::string& verb, const std::string& path_prefix, size_t count,
                             std::chrono::milliseconds timeout) EXCLUDES(mutex_);

 private:
  [[nodiscard]] size_t CountLocked(const std::string& verb, const std::string& path_prefix) const
      REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::condition_variable_any added_;
  std::vector<LoggedRequest> requests_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::fake
