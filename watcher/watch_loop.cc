#include "watcher/watch_loop.h"

#include <algorithm>
#include <utility>

#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

using std::chrono::milliseconds;

}  // namespace

WatchLoop::WatchLoop(Watched watched, const ApiConfig& config, EventHandler& handler,
                     FailureHandler on_failure)
    : on_failure_(std::move(on_failure)),
      client_(config),
      stream_(std::move(watched.path), watched.mode, std::move(watched.options),
              config.read_timeout, {client_, handler, metrics_}),
      delay_(config.fallback_spread),
      refusals_(config.refusal_grace) {}

void WatchLoop::Run() {
  bool going_on = WaitFor(milliseconds(0));
  while (going_on) {
    metrics_.Update([](WatchMetrics& metrics) { ++metrics.connects; });
    const WatchTry last = TryOnce();
    if (client_.stopped()) return;
    if (client_.interrupted()) continue;
    Count(last.end);
    const milliseconds delay = delay_.After(last);
    going_on = last.end == ReconnectReason::kAbsent ? WaitWhileAbsent(delay) : WaitFor(delay);
  }
}

WatchTry WatchLoop::TryOnce() {
  const auto start = WatchMetrics::Clock::now();
  WatchTry last;
  const unsigned refused = refusals_.tries();
  last.end = Watch(last.retry_after);
  if (refusals_.tries() == refused) refusals_.Clear();
  last.passing = refusals_.tries() > 0 && !refusals_.lasted();
  last.lasted = WatchMetrics::Clock::now() - start;
  last.useful = stream_.TookSomething();
  last.falls_back = stream_.falls_back();
  return last;
}

ReconnectReason WatchLoop::Watch(std::optional<std::chrono::seconds>& retry_after) {
  const bool called = TakeCall();
  try {
    if (called) stream_.CatchUp();
    if (called) AnswerCall();
    if (!called || !stream_.absent()) stream_.Once();
    return stream_.absent() ? ReconnectReason::kAbsent : ReconnectReason::kEnded;
  } catch (const ApiError& e) {
    retry_after = e.retry_after();
    if (e.code() == ApiError::kGone) {
      if (stream_.ExpiredAgain()) Report(std::current_exception());
      return ReconnectReason::kExpired;
    }
    const bool unauthorized = e.code() == ApiError::kUnauthorized;
    if (unauthorized || e.code() == ApiError::kForbidden) {
      // The token may just have been replaced; the next try reads it again.
      refusals_.Add(WatchMetrics::Clock::now());
      if (!unauthorized && refusals_.lasted() && stream_.TakeForbidden(e)) {
        if (called) AnswerCall();
        return ReconnectReason::kAbsent;
      }
      ReportRefusal(e, !unauthorized);
    } else {
      Report(std::current_exception());
    }
    return unauthorized ? ReconnectReason::kUnauthorized : ReconnectReason::kRefused;
  } catch (const ApiUntrusted& e) {
    refusals_.Add(WatchMetrics::Clock::now());
    ReportRefusal(e, true);
    return ReconnectReason::kUntrusted;
  } catch (const std::exception&) {
    Report(std::current_exception());
    return ReconnectReason::kUnavailable;
  }
}

void WatchLoop::Report(const std::exception_ptr& failure) const {
  if (on_failure_ && !client_.stopped() && !client_.interrupted()) on_failure_(failure);
}

void WatchLoop::ReportRefusal(const std::exception& refusal, bool at_once) {
  if (refusals_.lasted()) return Report(std::current_exception());
  if (at_once || refusals_.tries() > 1)
    Report(std::make_exception_ptr(ApiUnavailable(refusal.what())));
}

void WatchLoop::Count(ReconnectReason reason) {
  metrics_.Update([&](WatchMetrics& metrics) {
    ++metrics.reconnects[static_cast<size_t>(reason)];
    if (reason == ReconnectReason::kEnded || reason == ReconnectReason::kAbsent) {
      metrics.failing_since.reset();
    } else if (!metrics.failing_since) {
      metrics.failing_since = WatchMetrics::Clock::now();
    }
  });
}

bool WatchLoop::TakeCall() {
  const MutexLock lock(mutex_);
  if (std::exchange(called_, false)) client_.Resume();
  return static_cast<bool>(caught_up_);
}

void WatchLoop::AnswerCall() {
  std::function<void()> done;
  {
    const MutexLock lock(mutex_);
    if (!called_) done.swap(caught_up_);
  }
  if (done) done();
}

bool WatchLoop::WaitFor(milliseconds delay) {
  const auto until = WatchMetrics::Clock::now() + delay;
  const MutexLock lock(mutex_);
  while (!stopping_ && !called_ && changed_.wait_until(mutex_, until) != std::cv_status::timeout) {
  }
  return !stopping_;
}

bool WatchLoop::WaitWhileAbsent(milliseconds delay) {
  const milliseconds least = std::min<milliseconds>(delay, ReconnectDelay::kLeastAbsent);
  if (!WaitFor(least)) return false;
  const auto until = WatchMetrics::Clock::now() + delay - least;
  const MutexLock lock(mutex_);
  while (!stopping_ && !called_ && !asked_ &&
         changed_.wait_until(mutex_, until) != std::cv_status::timeout) {
  }
  if (std::exchange(asked_, false)) delay_.ForgetAbsence();
  return !stopping_;
}

void WatchLoop::AskForAbsent() {
  {
    const MutexLock lock(mutex_);
    asked_ = true;
  }
  changed_.notify_all();
}

void WatchLoop::CatchUp(std::function<void()> done) {
  {
    const MutexLock lock(mutex_);
    caught_up_ = std::move(done);
    called_ = true;
    client_.Interrupt();
  }
  changed_.notify_all();
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
