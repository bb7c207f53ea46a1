#pragma once

#include <poll.h>

#include <chrono>
#include <exception>
#include <stop_token>

#include "base/backoff.h"
#include "base/deadline.h"
#include "base/event_fd.h"
#include "base/log.h"

namespace kuryr::cni {

/// Hands what Next of a source of events returns to `take`, until it is stopped. `take` says
/// whether events have come; what comes first from a new source is none. Where the source fails,
/// `make` gives another one, after a delay that grows.
template <typename Make, typename Take>
void FollowEvents(const std::stop_token& stop, const Make& make, const Take& take) {
  /// Longest time without an event; then the source is made anew.
  constexpr std::chrono::hours kQuiet{12};
  const EventFd cancel;
  const std::stop_callback on_stop(stop, [&cancel] { cancel.Set(); });
  Backoff backoff(std::chrono::milliseconds(200), std::chrono::seconds(60));
  while (!stop.stop_requested()) {
    try {
      for (auto source = make();;) {
        if (take(source.Next(Deadline::After(kQuiet, cancel.fd())))) backoff.Reset();
      }
    } catch (const std::exception& e) {
      if (stop.stop_requested()) return;
      Log(LogLevel::kDebug, "events of the node are missed", {{"error", e.what()}});
      pollfd stopped = {.fd = cancel.fd(), .events = POLLIN, .revents = 0};
      (void)::poll(&stopped, 1, static_cast<int>(backoff.Next().count()));
    }
  }
}

}  // namespace kuryr::cni
