#pragma once

#include <chrono>
#include <cstdint>

#include "base/deadline.h"
#include "ovsdb/shim.h"

namespace kuryr::ovsdb {

[[nodiscard]] inline ovsdb_limit LimitOf(const Deadline& deadline) {
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(deadline.at.time_since_epoch());
  const bool is_set = deadline.at != Deadline::Clock::time_point::max();
  return {.deadline_ms = is_set ? time.count() : INT64_MAX, .cancel_fd = deadline.cancel_fd};
}

}  // namespace kuryr::ovsdb
