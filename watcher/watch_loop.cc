#include "watcher/watch_loop.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

using std::chrono::milliseconds;

constexpr int kUnauthorized = 401;
constexpr int kGone = 410;
/// A stream that ended in order but sooner than this counts against the rate of reconnects.
constexpr auto kShortLived = std::chrono::seconds(1);

std::string WithWatch(const std::string& path) {
  return path + (path.find('?') == std::string::npos ? "?" : "&") + "watch=true";
}

[[noreturn]] void ThrowStatus(const nlohmann::json& status) {
  throw ApiError(status.value("code", 0), status.value("reason", ""),
                 "API server ended the watch: " + Printable(status.value("message", ""), 300));
}

}  // namespace

WatchLoop::WatchLoop(std::string path, const ApiConfig& config, EventHandler& handler,
                     FailureHandler on_failure)
    : path_(std::move(path)),
      handler_(handler),
      on_failure_(std::move(on_failure)),
      client_(config) {}

void WatchLoop::Run() {
  milliseconds delay{0};
  while (WaitFor(delay)) {
    const auto start = std::chrono::steady_clock::now();
    const End end = WatchOnce();
    delay = DelayAfter(end, std::chrono::steady_clock::now() - start);
  }
}

WatchLoop::End WatchLoop::WatchOnce() {
  LineSplitter lines;
  try {
    client_.Stream(WithWatch(path_), [&](std::string_view bytes) {
      lines.Feed(bytes, [this](std::string_view line) { TakeLine(line); });
      return true;
    });
    return End::kInOrder;
  } catch (const ApiError& e) {
    // Nothing to be had from that version any more; the next connection starts from the present
    // state.
    if (e.code() == kGone) return End::kInOrder;
    // The token may just have been replaced; it is read anew for the next try.
    if (e.code() == kUnauthorized && !std::exchange(unauthorized_, true)) return End::kInOrder;
    if (on_failure_) on_failure_(std::current_exception());
  } catch (const std::exception&) {
    if (on_failure_) on_failure_(std::current_exception());
  }
  return End::kFailed;
}

void WatchLoop::TakeLine(std::string_view line) {
  WatchEvent event;
  try {
    event = ParseWatchEvent(line);
  } catch (const ParseError& e) {
    Log(LogLevel::kWarning, "watch line skipped", {{"path", path_}, {"error", e.what()}});
    return;
  }
  if (event.type == EventType::kError) ThrowStatus(*event.object);
  backoff_.Reset();
  unauthorized_ = false;
  try {
    handler_.Handle(event);
  } catch (const std::exception& e) {
    Log(LogLevel::kError, "event handler failed",
        {{"kind", event.kind},
         {"object", event.name_space + "/" + event.name},
         {"error", e.what()}});
  }
}

milliseconds WatchLoop::DelayAfter(End end, std::chrono::steady_clock::duration lasted) {
  return end != End::kFailed && lasted >= kShortLived ? milliseconds(0) : backoff_.Next();
}

bool WatchLoop::WaitFor(milliseconds delay) {
  const auto until = std::chrono::steady_clock::now() + delay;
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
