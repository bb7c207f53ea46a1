#include "cni/agent/registry/absent_schedule.h"

#include <algorithm>
#include <array>

namespace kuryr::cni {
namespace {

constexpr std::chrono::minutes kUsual{5};
/// In an hour, beside twelve that are five minutes apart: so long after the one before.
constexpr std::array<std::chrono::seconds, 3> kEarly = {
    std::chrono::seconds(2), std::chrono::seconds(8), std::chrono::seconds(32)};

}  // namespace

void AbsentSchedule::Add(Clock::time_point now) {
  if (last_ != Clock::time_point() && now < last_ + kUsual) early_.push_back(now);
  if (early_.size() > kEarly.size()) early_.pop_front();
  last_ = now;
}

AbsentSchedule::Clock::time_point AbsentSchedule::Next() const {
  const bool may_be_early = early_.size() < kEarly.size();
  const auto soon = may_be_early
                        ? last_ + kEarly.at(early_.size())
                        : std::max(last_ + kEarly.back(), early_.front() + std::chrono::hours(1));
  return std::min(soon, last_ + kUsual);
}

}  // namespace kuryr::cni
