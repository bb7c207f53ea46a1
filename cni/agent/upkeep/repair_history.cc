#include "cni/agent/upkeep/repair_history.h"

#include <algorithm>

namespace kuryr::cni {
namespace {

constexpr size_t kMostRepairs = 3;
constexpr std::chrono::minutes kWithin{1};
constexpr std::chrono::minutes kLeft{5};
constexpr std::chrono::seconds kFirstWait{1};
constexpr std::chrono::minutes kLongestWait{1};

}  // namespace

RepairHistory::Verdict RepairHistory::Judge(const binding::Differences& found,
                                            Clock::time_point now) {
  if (now < left_until_) return Verdict::kLeave;
  if (now < due_at_) return Verdict::kWait;
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

bool RepairHistory::News::Take(const std::string& now_told, Clock::time_point now) {
  if (now_told == text || IsFresh(now)) return false;
  text = now_told;
  told_at = now;
  return true;
}

void RepairHistory::AddRepair(const binding::Differences& found, Clock::time_point now) {
  EndFailures();
  for (const binding::Difference& difference : found) {
    auto& past = repairs_[{difference.kind, difference.what}];
    past.push_back(now);
    if (past.size() > kMostRepairs) past.erase(past.begin());
  }
}

bool RepairHistory::AddFailure(const std::string& why, Clock::time_point now) {
  Clock::duration wait = kFirstWait;
  for (int past = 0; past < failures_ && wait < kLongestWait; ++past) wait *= 2;
  ++failures_;
  due_at_ = now + std::min<Clock::duration>(wait, kLongestWait);
  return failure_.Take(why, now);
}

RepairHistory::Clock::duration RepairHistory::WaitAt(Clock::time_point now) const {
  return std::max<Clock::duration>(due_at_ - now, {});
}

void RepairHistory::EndFailures() {
  failures_ = 0;
  due_at_ = {};
  failure_.text.clear();
}

bool RepairHistory::IsNews(const binding::Differences& found, Clock::time_point now) {
  std::string texts;
  for (const binding::Difference& difference : found) texts += difference.text + "\n";
  return differences_.Take(texts, now);
}

bool RepairHistory::Settle(Clock::time_point now) {
  EndFailures();
  differences_.text.clear();
  if (now < left_until_ || differences_.IsFresh(now) || failure_.IsFresh(now)) return false;
  return std::all_of(repairs_.begin(), repairs_.end(),
                     [&](const auto& past) { return now - past.second.back() >= kWithin; });
}

}  // namespace kuryr::cni
