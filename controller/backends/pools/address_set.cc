#include "controller/backends/pools/address_set.h"

#include <iterator>

namespace kuryr::controller::pools {

AddressSet::AddressSet(Intervals all, Number seed, std::chrono::steady_clock::duration spare_time)
    : all_(std::move(all)), free_(all_), spare_time_(spare_time) {
  if (!all_.empty()) cursor_ = all_.At(seed % all_.size());
}

void AddressSet::Wake(TimePoint now) {
  while (!queue_.empty() && queue_.front().first <= now) {
    const auto [until, number] = queue_.front();
    queue_.pop_front();
    const auto found = resting_.find(number);
    if (found == resting_.end() || found->second.until != until) continue;
    if (!found->second.taken) {
      free_.Add({number, number});
      Forget({until, number});
    }
    resting_.erase(found);
  }
  while (!young_.empty() && young_.begin()->first - spare_time_ <= now)
    spare_.insert(young_.extract(young_.begin()));
}

void AddressSet::Forget(const RestEnd& rest) {
  young_.erase(rest);
  spare_.erase(rest);
}

std::optional<Number> AddressSet::TakeNext(TimePoint now) {
  Wake(now);
  auto next = free_.NextAt(cursor_);
  if (!next) next = free_.NextAt(0);
  if (!next && !spare_.empty()) next = spare_.begin()->second;
  if (!next) return std::nullopt;
  TakeAnyway(*next);
  cursor_ = *next + 1;
  return next;
}

Number AddressSet::available(TimePoint now) {
  Wake(now);
  return free_.size() + spare_.size();
}

AddressSet::Taken AddressSet::Take(Number number, TimePoint now, uint64_t by) {
  Wake(now);
  if (!all_.Contains(number)) return Taken::kNotHere;
  const auto found = resting_.find(number);
  const bool rests = found != resting_.end() && !found->second.taken;
  if (rests && found->second.by != by) return Taken::kResting;
  if (!rests && !free_.Contains(number)) return Taken::kNotFree;
  TakeAnyway(number);
  return Taken::kYes;
}

void AddressSet::TakeAnyway(Number number) {
  free_.Remove({number, number});
  const auto found = resting_.find(number);
  if (found == resting_.end() || found->second.taken) return;
  found->second.taken = true;
  Forget({found->second.until, number});
}

void AddressSet::GiveBack(Number number) {
  const auto found = resting_.find(number);
  if (found == resting_.end()) {
    if (all_.Contains(number)) free_.Add({number, number});
  } else if (found->second.taken) {
    found->second.taken = false;
    young_.emplace(found->second.until, number);
  }
}

void AddressSet::Rest(Number number, TimePoint until, uint64_t by) {
  if (!all_.Contains(number) || free_.Contains(number)) return;
  if (const auto former = RestOf(number)) Forget({*former, number});
  young_.emplace(until, number);
  resting_[number] = {.until = until, .by = by};
  queue_.emplace_back(until, number);
}

std::optional<TimePoint> AddressSet::RestOf(Number number) const {
  const auto found = resting_.find(number);
  if (found == resting_.end() || found->second.taken) return std::nullopt;
  return found->second.until;
}

std::optional<TimePoint> AddressSet::NextSpare() const {
  if (young_.empty()) return std::nullopt;
  return young_.begin()->first - spare_time_;
}

size_t AddressSet::resting(TimePoint now) const {
  const RestEnd first = {now, ~Number{0}};
  const auto over = [&](const std::set<RestEnd>& rests) {
    return std::distance(rests.begin(), rests.upper_bound(first));
  };
  return resting() - static_cast<size_t>(over(young_) + over(spare_));
}

}  // namespace kuryr::controller::pools
