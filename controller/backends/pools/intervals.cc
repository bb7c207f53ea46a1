#include "controller/backends/pools/intervals.h"

#include <algorithm>
#include <iterator>

namespace kuryr::controller::pools {

Intervals::Map::const_iterator Intervals::FindAt(Number number) const {
  const auto after = intervals_.upper_bound(number);
  if (after == intervals_.begin()) return after;
  const auto before = std::prev(after);
  return before->second >= number ? before : after;
}

void Intervals::Add(Range range) {
  // Start at the interval that ends right before the range, to join it.
  auto next = FindAt(range.first == 0 ? 0 : range.first - 1);
  while (next != intervals_.end() && next->first <= range.last + 1) {
    range.first = std::min(range.first, next->first);
    range.last = std::max(range.last, next->second);
    size_ -= next->second - next->first + 1;
    next = intervals_.erase(next);
  }
  intervals_.emplace_hint(next, range.first, range.last);
  size_ += range.last - range.first + 1;
}

void Intervals::Remove(Range range) {
  auto next = FindAt(range.first);
  while (next != intervals_.end() && next->first <= range.last) {
    const auto [first, last] = *next;
    next = intervals_.erase(next);
    size_ -= last - first + 1;
    if (first < range.first) {
      intervals_.emplace_hint(next, first, range.first - 1);
      size_ += range.first - first;
    }
    if (last > range.last) {
      next = intervals_.emplace_hint(next, range.last + 1, last);
      size_ += last - range.last;
    }
  }
}

bool Intervals::Contains(Number number) const { return NextAt(number) == number; }

bool Intervals::Overlaps(const Range& range) const {
  const auto next = NextAt(range.first);
  return next && *next <= range.last;
}

std::optional<Number> Intervals::NextAt(Number number) const {
  const auto found = FindAt(number);
  if (found == intervals_.end()) return std::nullopt;
  return std::max(found->first, number);
}

Number Intervals::At(Number index) const {
  auto interval = intervals_.begin();
  for (; index > interval->second - interval->first; ++interval)
    index -= interval->second - interval->first + 1;
  return interval->first + index;
}

}  // namespace kuryr::controller::pools
