#pragma once

#include <map>
#include <optional>

#include "controller/backends/pools/number.h"

namespace kuryr::controller::pools {

/// A set of numbers, kept as intervals that neither overlap nor touch: its size is that of its
/// gaps. Each call takes logarithmic time in them, and more for what it covers. The highest number
/// of all is never in it. Not thread-safe.
class Intervals {
 public:
  void Add(Range range);
  void Remove(Range range);

  [[nodiscard]] bool Contains(Number number) const;
  /// The first one at or after `number`.
  [[nodiscard]] std::optional<Number> NextAt(Number number) const;
  /// The one at `index`, which is below size(): linear in the intervals.
  [[nodiscard]] Number At(Number index) const;
  [[nodiscard]] Number size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// How many intervals they are.
  [[nodiscard]] size_t pieces() const noexcept { return intervals_.size(); }
  [[nodiscard]] bool Overlaps(const Range& range) const;

 private:
  using Map = std::map<Number, Number>;  ///< first to last

  /// The interval that has `number`, or else the next one.
  [[nodiscard]] Map::const_iterator FindAt(Number number) const;

  Map intervals_;
  Number size_ = 0;
};

}  // namespace kuryr::controller::pools
