#include "controller/backends/neutron/client/request_gate.h"

#include <algorithm>

namespace kuryr::controller::neutron {

using std::chrono::seconds;

bool RequestGate::MayBegin(Clock::time_point now, Clock::time_point& again) {
  if (under_way_ >= limits_.at_a_time) return false;
  if (limits_.a_second == 0) return true;
  const Clock::duration interval = Clock::duration(seconds(1)) / limits_.a_second;
  // The second that may be made up for has room for the request that begins.
  const Clock::time_point earliest = next_ - (Clock::duration(seconds(1)) - interval);
  if (now < earliest) {
    again = std::min(again, earliest);
    return false;
  }
  next_ = std::max(next_, now) + interval;
  return true;
}

RequestGate::Turn RequestGate::Enter(Rank rank) {
  const MutexLock lock(mutex_);
  ++waiting_[rank];
  const Turn turn = Wait(rank);
  --waiting_[rank];
  // Whoever is last may begin beside it.
  if (waiting_[Rank::kLast] > 0) changed_.notify_all();
  return turn;
}

uint32_t RequestGate::waiting(Rank rank) {
  const MutexLock lock(mutex_);
  return waiting_[rank];
}

RequestGate::Turn RequestGate::Wait(Rank rank) {
  const Clock::time_point end = Clock::now() + limits_.patience;
  for (;;) {
    if (stopped_) return Turn::kStopped;
    const Clock::time_point now = Clock::now();
    Clock::time_point again = end;
    if ((rank == Rank::kUsual || waiting_[Rank::kUsual] == 0) && MayBegin(now, again)) {
      ++under_way_;
      return Turn::kMine;
    }
    if (now >= end) return Turn::kTooLate;
    changed_.wait_until(mutex_, again);
  }
}

void RequestGate::Leave() {
  {
    const MutexLock lock(mutex_);
    --under_way_;
  }
  changed_.notify_all();
}

void RequestGate::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

}  // namespace kuryr::controller::neutron
