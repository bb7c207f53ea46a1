#include "watcher/reconnect_delay.h"

#include <algorithm>
#include <utility>

namespace kuryr::watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What ended sooner counts against the rate of reconnects.
constexpr seconds kShortLived{1};
/// So that a refusal that lasts is known for one soon after its grace.
constexpr seconds kMaxPassing{2};
/// A server does not send us away for longer.
constexpr seconds kMaxRetryAfter{120};

}  // namespace

milliseconds ReconnectDelay::After(const WatchTry& last) {
  if (last.end == ReconnectReason::kAbsent)
    return std::exchange(absent_, std::min<seconds>(4 * absent_, kMostAbsent));
  ForgetAbsence();
  const bool lived = last.lasted >= kShortLived;
  const bool ended = last.end == ReconnectReason::kEnded && lived;
  const bool expired = last.end == ReconnectReason::kExpired;
  // A list mends the first; a version that is gone again at once would be listed for ever.
  const bool again = std::exchange(expired_, expired) && !last.useful;
  if (last.useful || ended) backoff_.Reset();
  if (ended || (expired && lived && !again)) return milliseconds(0);
  milliseconds next = backoff_.Next();
  if (last.passing) next = std::min<milliseconds>(next, kMaxPassing);
  return std::max<milliseconds>(next,
                                std::min(last.retry_after.value_or(seconds(0)), kMaxRetryAfter));
}

}  // namespace kuryr::watcher
