#include "controller/backends/pools/address_set.h"

#include <algorithm>

namespace kuryr::controller::pools {

AddressSet::AddressSet(Intervals all, Number seed) : all_(std::move(all)), free_(all_) {
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
      --resting_size_;
    }
    resting_.erase(found);
  }
}

std::optional<Number> AddressSet::TakeNext(TimePoint now) {
  Wake(now);
  auto next = free_.NextAt(cursor_);
  if (!next) next = free_.NextAt(0);
  if (!next) return std::nullopt;
  free_.Remove({*next, *next});
  cursor_ = *next + 1;
  return next;
}

Number AddressSet::free(TimePoint now) {
  Wake(now);
  return free_.size();
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
  --resting_size_;
}

void AddressSet::GiveBack(Number number) {
  const auto found = resting_.find(number);
  if (found == resting_.end()) {
    if (all_.Contains(number)) free_.Add({number, number});
  } else if (found->second.taken) {
    found->second.taken = false;
    ++resting_size_;
  }
}

void AddressSet::Rest(Number number, TimePoint until, uint64_t by) {
  if (!all_.Contains(number) || free_.Contains(number)) return;
  const auto found = resting_.find(number);
  if (found == resting_.end() || found->second.taken) ++resting_size_;
  resting_[number] = {.until = until, .by = by};
  queue_.emplace_back(until, number);
}

std::optional<TimePoint> AddressSet::RestOf(Number number) const {
  const auto found = resting_.find(number);
  if (found == resting_.end() || found->second.taken) return std::nullopt;
  return found->second.until;
}

std::optional<TimePoint> AddressSet::NextRestEnd() const {
  for (const auto& [until, number] : queue_) {
    if (RestOf(number) == until) return until;
  }
  return std::nullopt;
}

size_t AddressSet::resting(TimePoint now) const {
  size_t count = resting_size_;
  for (auto entry = queue_.begin(); entry != queue_.end() && entry->first <= now; ++entry) {
    if (RestOf(entry->second) == entry->first) --count;
  }
  return count;
}

}  // namespace kuryr::controller::pools
