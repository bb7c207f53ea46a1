#include "watcher/failure_log.h"

#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/thread_annotations.h"
#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

using Clock = std::chrono::steady_clock;

/// After this time without a failure the next one belongs to another outage. Tries are closer.
constexpr std::chrono::minutes kEndOfOutage{5};

/// The causes of the present outages. Thread-safe.
class Outages {
 public:
  /// Whether the cause is a new one.
  [[nodiscard]] bool Add(const std::string& cause) {
    const auto now = Clock::now();
    const MutexLock lock(mutex_);
    std::erase_if(seen_, [&](const auto& each) { return now - each.second > kEndOfOutage; });
    return seen_.insert_or_assign(cause, now).second;
  }

 private:
  Mutex mutex_;
  std::map<std::string, Clock::time_point> seen_ GUARDED_BY(mutex_);
};

}  // namespace

std::string CauseOf(const std::exception& failure) {
  const auto* unavailable = dynamic_cast<const ApiUnavailable*>(&failure);
  return unavailable != nullptr ? unavailable->cause() : failure.what();
}

FailureHandler LogFailures(const char* text,
                           std::function<std::string(const std::exception& failure)> explain) {
  return [text, explain = std::move(explain),
          outages = std::make_shared<Outages>()](const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      if (outages->Add(CauseOf(e))) Log(LogLevel::kWarning, text, {{"error", explain(e)}});
    }
  };
}

}  // namespace kuryr::watcher
