#include "cni/agent/upkeep/repair_history.h"

#include <algorithm>

namespace kuryr::cni {
namespace {

constexpr size_t kMostRepairs = 3;
constexpr std::chrono::minutes kWithin{1};
constexpr std::chrono::minutes kLeft{5};

}  // namespace

RepairHistory::Verdict RepairHistory::Judge(const binding::Differences& found,
                                            Clock::time_point now) {
  if (now < left_until_) return Verdict::kLeave;
  const bool is_contested =
      std::any_of(found.begin(), found.end(), [&](const binding::Difference& difference) {
        const auto past = repairs_.find({difference.kind, difference.what});
        return past != repairs_.end() && past->second.size() >= kMostRepairs &&
               now - past->second.front() < kWithin;
      });
  if (!is_contested) return Verdict::kRepair;
  left_until_ = now + kLeft;
  return std::exchange(is_given_up_, true) ? Verdict::kLeave : Verdict::kGiveUp;
}

void RepairHistory::AddRepair(const binding::Differences& found, Clock::time_point now) {
  for (const binding::Difference& difference : found) {
    auto& past = repairs_[{difference.kind, difference.what}];
    past.push_back(now);
    if (past.size() > kMostRepairs) past.erase(past.begin());
  }
}

bool RepairHistory::IsNews(const binding::Differences& found, Clock::time_point now) {
  std::string texts;
  for (const binding::Difference& difference : found) texts += difference.text + "\n";
  if (texts == told_ || IsToldLately(now)) return false;
  told_ = std::move(texts);
  told_at_ = now;
  return true;
}

bool RepairHistory::Settle(Clock::time_point now) {
  told_.clear();
  if (now < left_until_ || IsToldLately(now)) return false;
  return std::all_of(repairs_.begin(), repairs_.end(),
                     [&](const auto& past) { return now - past.second.back() >= kWithin; });
}

}  // namespace kuryr::cni
