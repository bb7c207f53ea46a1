#include "watcher/watch_loop.h"

#include <algorithm>
#include <utility>

#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kUnauthorized = 401;
constexpr int kGone = 410;
/// A stream that ended in order but sooner than this counts against the rate of reconnects.
constexpr seconds kShortLived{1};
/// A server does not send us away for longer.
constexpr seconds kMaxRetryAfter{120};

}  // namespace

WatchLoop::WatchLoop(std::string path, WatchMode mode, const ApiConfig& config,
                     EventHandler& handler, FailureHandler on_failure)
    : on_failure_(std::move(on_failure)),
      client_(config),
      stream_(std::move(path), mode, config.read_timeout, client_, handler, metrics_) {}

void WatchLoop::Run() {
  milliseconds delay{0};
  while (WaitFor(delay)) {
    const auto start = WatchMetrics::Clock::now();
    metrics_.Update([](WatchMetrics& metrics) { ++metrics.connects; });
    const ReconnectReason reason = WatchOnce();
    if (client_.stopped()) return;
    Count(reason);
    delay = DelayAfter(reason, WatchMetrics::Clock::now() - start);
  }
}

ReconnectReason WatchLoop::WatchOnce() {
  retry_after_.reset();
  try {
    stream_.Once();
    return ReconnectReason::kEnded;
  } catch (const ApiError& e) {
    if (e.retry_after()) retry_after_ = std::min(*e.retry_after(), kMaxRetryAfter);
    if (e.code() == kGone) return ReconnectReason::kExpired;
    const bool unauthorized = e.code() == kUnauthorized;
    // The token may just have been replaced; it is read anew for the next try.
    if (!unauthorized || std::exchange(unauthorized_, true)) Report();
    return unauthorized ? ReconnectReason::kUnauthorized : ReconnectReason::kRefused;
  } catch (const ApiUntrusted&) {
    Report();
    return ReconnectReason::kUntrusted;
  } catch (const std::exception&) {
    Report();
    return ReconnectReason::kUnavailable;
  }
}

void WatchLoop::Report() const {
  if (on_failure_ && !client_.stopped()) on_failure_(std::current_exception());
}

void WatchLoop::Count(ReconnectReason reason) {
  metrics_.Update([&](WatchMetrics& metrics) {
    ++metrics.reconnects[static_cast<size_t>(reason)];
    if (reason == ReconnectReason::kEnded) {
      metrics.failing_since.reset();
    } else if (!metrics.failing_since) {
      metrics.failing_since = WatchMetrics::Clock::now();
    }
  });
}

milliseconds WatchLoop::DelayAfter(ReconnectReason reason, WatchMetrics::Clock::duration lasted) {
  if (stream_.TookSomething()) {
    backoff_.Reset();
    unauthorized_ = false;
  }
  const bool in_order = reason == ReconnectReason::kEnded || reason == ReconnectReason::kExpired;
  if (in_order && lasted >= kShortLived) return milliseconds(0);
  return std::max<milliseconds>(backoff_.Next(), retry_after_.value_or(seconds(0)));
}

bool WatchLoop::WaitFor(milliseconds delay) {
  const auto until = WatchMetrics::Clock::now() + delay;
  const MutexLock lock(mutex_);
  while (!stopping_ && changed_.wait_until(mutex_, until) != std::cv_status::timeout) {
  }
  return !stopping_;
}

void WatchLoop::RequestStop() noexcept {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  client_.Stop();
}

}  // namespace kuryr::watcher
