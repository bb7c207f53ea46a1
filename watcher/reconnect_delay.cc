#include "watcher/reconnect_delay.h"

#include <algorithm>
#include <utility>

namespace kuryr::watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A watch that ended sooner counts against the rate of reconnects.
constexpr seconds kShortLived{1};
constexpr milliseconds kLeastApart{500};
/// The longest delay after a passing refusal, so that a lasting refusal is soon reported after its
/// grace.
constexpr seconds kMaxPassing{2};
/// The longest Retry-After that is obeyed.
constexpr seconds kMaxRetryAfter{120};
/// So many refusals are no server's start any more.
constexpr unsigned kLastingRefusals = 3;

}  // namespace

milliseconds ReconnectDelay::After(const WatchTry& last) {
  if (last.end == ReconnectReason::kAbsent)
    return std::exchange(absent_, std::min<seconds>(4 * absent_, kMostAbsent));
  ForgetAbsence();
  const bool lived = last.lasted >= kShortLived;
  const bool ended = last.end == ReconnectReason::kEnded && lived;
  const bool expired = last.end == ReconnectReason::kExpired;
  // A list repairs the first expiry. A version that is gone again at once would cause endless
  // lists.
  const bool again = std::exchange(expired_, expired) && !last.useful;
  if (last.useful || ended) Reset();
  const milliseconds told = std::min(last.retry_after.value_or(seconds(0)), kMaxRetryAfter);
  if (last.falls_back && !last.passing) return std::max(BeforeFallback(), told);
  if (ended || (expired && lived && !again)) return milliseconds(0);
  milliseconds next = backoff_.Next();
  if (last.passing) next = std::min<milliseconds>(next, kMaxPassing);
  return std::max(next, told);
}

milliseconds ReconnectDelay::BeforeFallback() {
  if (std::exchange(fell_back_, true)) return std::max(backoff_.Next(), fallback_.Next());
  const milliseconds least = std::min(spread_, kLeastApart);
  std::uniform_int_distribution<milliseconds::rep> between(least.count(), spread_.count());
  return milliseconds(between(random_));
}

void ReconnectDelay::Reset() {
  backoff_.Reset();
  fallback_.Reset();
  fell_back_ = false;
}

void Refusals::Add(Clock::time_point now) {
  if (++tries_ == 1) first_ = now;
  lasted_ = tries_ >= kLastingRefusals && now - first_ >= grace_;
}

}  // namespace kuryr::watcher
