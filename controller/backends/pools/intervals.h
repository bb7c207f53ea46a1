#pragma once

#include <map>
#include <optional>

#include "controller/backends/pools/number.h"

namespace kuryr::controller::pools {

/// A set of numbers, kept as intervals that neither overlap nor touch. Its memory follows their
/// count. A call takes logarithmic time in that count, and more for each interval it covers. The
/// set never has the highest possible number. Not thread-safe.
class Intervals {
 public:
  void Add(Range range);
  void Remove(Range range);

  [[nodiscard]] bool Contains(Number number) const;
  /// The first number of the set at or after `number`.
  [[nodiscard]] std::optional<Number> NextAt(Number number) const;
  /// The number at position `index`, which is below size(). Takes linear time in the intervals.
  [[nodiscard]] Number At(Number index) const;
  [[nodiscard]] Number size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// The number of intervals.
  [[nodiscard]] size_t pieces() const noexcept { return intervals_.size(); }
  [[nodiscard]] bool Overlaps(const Range& range) const;

 private:
  using Map = std::map<Number, Number>;  ///< first to last

  /// The interval that contains `number`, else the next one.
  [[nodiscard]] Map::const_iterator FindAt(Number number) const;

  Map intervals_;
  Number size_ = 0;
};

}  // namespace kuryr::controller::pools
