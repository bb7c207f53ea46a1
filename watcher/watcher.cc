#include "watcher/watcher.h"

#include <chrono>
#include <memory>
#include <utility>

#include "base/log.h"

namespace kuryr::watcher {

void Watcher::Watch::Start() {
  thread = std::jthread([this, context = LogContext::Current()] {
    const LogScope scope(context);
    loop.Run();
    ended = true;
  });
}

Watcher::Watcher(ApiConfig config, EventHandler& handler, FailureHandler on_failure)
    : config_(std::move(config)), handler_(handler), on_failure_(std::move(on_failure)) {}

void Watcher::Add(const std::string& path, WatchMode mode, WatchOptions options) {
  const MutexLock lock(mutex_);
  watches_.remove_if([](const Watch& watch) { return watch.ended.load(); });
  Watch& watch = watches_.emplace_back(WatchLoop::Watched{path, mode, std::move(options)}, *this);
  if (started_) watch.Start();
}

void Watcher::Remove(const std::string& path) {
  const MutexLock lock(mutex_);
  for (Watch& watch : watches_) {
    if (watch.loop.path() == path) watch.loop.RequestStop();
  }
}

void Watcher::AskForAbsent() {
  const MutexLock lock(mutex_);
  for (Watch& watch : watches_) watch.loop.AskForAbsent();
}

void Watcher::CatchUp(const std::function<void()>& done) {
  const MutexLock lock(mutex_);
  const auto missing = std::make_shared<std::atomic<size_t>>(watches_.size());
  const auto start = WatchMetrics::Clock::now();
  for (Watch& watch : watches_) {
    watch.loop.CatchUp([missing, done, start, &watch] {
      if (--*missing > 0) return;
      const std::chrono::duration<double> took = WatchMetrics::Clock::now() - start;
      Log(LogLevel::kInfo, "caught up with the API server",
          {{"seconds", std::to_string(took.count())}, {"last", watch.loop.path()}});
      done();
    });
  }
}

bool Watcher::IsAlive() const {
  const auto limit = WatchMetrics::Clock::now() - config_.retry_timeout;
  for (const auto& [path, metrics] : Metrics()) {
    if (metrics.failing_since && *metrics.failing_since < limit) return false;
  }
  return true;
}

std::map<std::string, WatchMetrics> Watcher::Metrics() const {
  std::map<std::string, WatchMetrics> metrics;
  const MutexLock lock(mutex_);
  for (const Watch& watch : watches_) {
    if (!watch.loop.stopped()) metrics.emplace(watch.loop.path(), watch.loop.metrics());
  }
  return metrics;
}

void Watcher::Start() {
  const MutexLock lock(mutex_);
  if (std::exchange(started_, true)) return;
  for (Watch& watch : watches_) watch.Start();
}

void Watcher::RequestStop() noexcept {
  const MutexLock lock(mutex_);
  for (Watch& watch : watches_) watch.loop.RequestStop();
}

void Watcher::Stop() {
  RequestStop();
  std::list<Watch> ended;
  {
    const MutexLock lock(mutex_);
    started_ = false;
    ended.swap(watches_);
  }
  // Joined without the lock: a handler still at work may call Add, Remove or RequestStop.
}

}  // namespace kuryr::watcher
