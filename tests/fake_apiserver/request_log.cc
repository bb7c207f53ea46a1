#include "tests/fake_apiserver/request_log.h"

#include <algorithm>

namespace kuryr::fake {

void RequestLog::Add(LoggedRequest request) {
  const MutexLock lock(mutex_);
  requests_.push_back(std::move(request));
  added_.notify_all();
}

std::vector<LoggedRequest> RequestLog::All() const {
  const MutexLock lock(mutex_);
  return requests_;
}

bool RequestLog::WaitFor(const std::string& verb, const std::string& path_prefix, size_t count,
                         std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const MutexLock lock(mutex_);
  while (CountLocked(verb, path_prefix) < count) {
    if (added_.wait_until(mutex_, deadline) == std::cv_status::timeout) {
      return CountLocked(verb, path_prefix) >= count;
    }
  }
  return true;
}

size_t RequestLog::CountLocked(const std::string& verb, const std::string& path_prefix) const {
  const auto matches = [&](const LoggedRequest& request) {
    return (verb.empty() || request.verb == verb || request.method == verb) &&
           request.path.starts_with(path_prefix);
  };
  return static_cast<size_t>(std::count_if(requests_.begin(), requests_.end(), matches));
}

}  // namespace kuryr::fake
