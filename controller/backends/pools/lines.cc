#include "controller/backends/pools/lines.h"

#include <iterator>

namespace kuryr::controller::pools {
namespace {

Line::Stock StockOf(AddressSet& set, TimePoint now) {
  const Number free = set.available(now);
  return {.free = free, .next = set.NextSpare().value_or(Line::kNever)};
}

}  // namespace

bool Lines::MayTake(AddressSet& set, const std::string& owner_id, TimePoint now) const {
  const auto line = lines_.find(&set);
  return line == lines_.end() || line->second.MayTake(owner_id, set.available(now));
}

TimePoint Lines::Wait(AddressSet& set, const Owner& owner, TimePoint now) {
  const auto former = set_.find(owner.id);
  if (former != set_.end() && former->second != &set) Leave(owner.id);
  set_[owner.id] = &set;
  return lines_[&set].Wait(owner, StockOf(set, now));
}

void Lines::Leave(const std::string& owner_id) {
  const auto set = set_.find(owner_id);
  if (set == set_.end()) return;
  const auto line = lines_.find(set->second);
  if (line != lines_.end()) line->second.Leave(owner_id);
  set_.erase(set);
}

void Lines::Drop(AddressSet& set) {
  lines_.erase(&set);
  std::erase_if(set_, [&](const auto& place) { return place.second == &set; });
}

std::vector<Owner> Lines::Call(TimePoint now) {
  std::vector<Owner> all;
  for (auto line = lines_.begin(); line != lines_.end();) {
    const std::vector<Owner> owners = line->second.Call(StockOf(*line->first, now), now);
    all.insert(all.end(), owners.begin(), owners.end());
    line = line->second.empty() ? lines_.erase(line) : std::next(line);
  }
  return all;
}

}  // namespace kuryr::controller::pools
