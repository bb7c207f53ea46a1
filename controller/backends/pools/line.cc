#include "controller/backends/pools/line.h"

namespace kuryr::controller::pools {

bool Line::MayTake(const std::string& owner_id, Number free) const {
  const auto seq = seqs_.find(owner_id);
  if (seq != seqs_.end() && called_.contains(seq->second)) return free > 0;
  return waiting_.empty() && free > called_.size();
}

Line::TimePoint Line::Wait(const Owner& owner, const Stock& stock) {
  const auto seq = seqs_.find(owner.id);
  const bool is_called = seq != seqs_.end() && called_.contains(seq->second);
  if (stock.free > 0 && (is_called || empty())) {
    Leave(owner.id);
    return kNever;
  }
  if (seq == seqs_.end()) {
    (empty() ? called_ : waiting_).emplace(next_, Place{.owner = owner, .comes = stock.next});
    seqs_.emplace(owner.id, next_++);
    return waiting_.empty() ? stock.next : kNever;
  }
  if (!is_called) return kNever;
  if (called_.begin()->first == seq->second) return called_.begin()->second.comes = stock.next;
  waiting_.insert(called_.extract(seq->second));
  return kNever;
}

void Line::Leave(const std::string& owner_id) {
  const auto seq = seqs_.find(owner_id);
  if (seq == seqs_.end()) return;
  called_.erase(seq->second);
  waiting_.erase(seq->second);
  seqs_.erase(seq);
}

std::vector<Owner> Line::Call(const Stock& stock, TimePoint now) {
  const TimePoint soonest = stock.free > 0 ? now : stock.next;
  while (stock.free > 0 && !called_.empty() && called_.begin()->second.comes < now - kPatience)
    Leave(called_.begin()->second.owner.id);
  std::vector<Owner> owners;
  if (!called_.empty() && called_.begin()->second.comes > soonest) {
    called_.begin()->second.comes = soonest;
    owners.push_back(called_.begin()->second.owner);
  }
  while (!waiting_.empty() && (called_.empty() || stock.free > called_.size())) {
    const auto next = called_.insert(waiting_.extract(waiting_.begin())).position;
    next->second.comes = soonest;
    owners.push_back(next->second.owner);
  }
  return owners;
}

}  // namespace kuryr::controller::pools
