#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "watcher/api_error.h"
#include "watcher/dispatcher.h"
#include "watcher/watch_loop.h"

namespace kuryr::watcher {

/// Keeps the events and failures that it is told, "ADDED x" or "403: why", and lets a test wait for
/// them. Throws at an object named "poison".
class Listener : public EventHandler {
 public:
  void Handle(const WatchEvent& event) override {
    static constexpr const char* kNames[] = {"ADDED",    "MODIFIED", "DELETED",
                                             "BOOKMARK", "ERROR",    "UNKNOWN"};
    Add(std::string(kNames[static_cast<size_t>(event.type)]) + " " + event.name);
    if (event.name == "poison") throw std::runtime_error("poison");
  }
  FailureHandler OnFailure() {
    return [this](const std::exception_ptr& failure) {
      try {
        std::rethrow_exception(failure);
      } catch (const ApiUntrusted& e) {
        Add(std::string("untrusted: ") + e.what());
      } catch (const ApiError& e) {
        Add(std::to_string(e.code()) + ": " + e.what());
      } catch (const ApiUnavailable& e) {
        Add(std::string("unavailable: ") + e.what());
      }
    };
  }
  /// Waits for exactly this text; false after 20 s.
  bool Hears(const std::string& what) {
    const MutexLock lock(mutex_);
    return changed_.wait_for(mutex_, std::chrono::seconds(20), [&]() REQUIRES(mutex_) {
      return std::find(heard_.begin(), heard_.end(), what) != heard_.end();
    });
  }
  std::vector<std::string> WaitFor(size_t count) {
    const MutexLock lock(mutex_);
    changed_.wait_for(mutex_, std::chrono::seconds(20),
                      [&]() REQUIRES(mutex_) { return heard_.size() >= count; });
    return heard_;
  }

 private:
  void Add(const std::string& what) {
    const MutexLock lock(mutex_);
    heard_.push_back(what);
    changed_.notify_all();
  }

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::string> heard_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::watcher
