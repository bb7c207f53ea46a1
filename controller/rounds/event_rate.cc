#include "controller/rounds/event_rate.h"

#include <algorithm>

namespace kuryr::controller {

bool EventRate::Take(const std::string& uid, Clock::time_point now) {
  if (now >= sweep_at_) {
    std::erase_if(full_at_, [&](const auto& each) { return each.second <= now; });
    sweep_at_ = now + kEach;
  }
  Clock::time_point& full_at = full_at_[uid];
  const Clock::time_point next = std::max(full_at, now) + kEach;
  if (next > now + kAtOnce * kEach) return false;
  full_at = next;
  return true;
}

}  // namespace kuryr::controller
