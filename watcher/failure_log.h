#pragma once

#include <exception>
#include <functional>
#include <string>

#include "watcher/watch_loop.h"

namespace kuryr::watcher {

/// The text that a failure has in common with those of other requests, which failed for one cause.
[[nodiscard]] std::string CauseOf(const std::exception& failure);

/// Logs `text` and the reason, once for each outage and cause. `explain` makes the reason.
/// Thread-safe.
[[nodiscard]] FailureHandler LogFailures(
    const char* text, std::function<std::string(const std::exception& failure)> explain);

}  // namespace kuryr::watcher
