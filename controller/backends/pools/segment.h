#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"
#include "controller/backends/pools/allocator.h"

namespace kuryr::controller::pools {

/// The pools whose pods see each other's frames: those of one bridge, or all on the node's link.
/// There a MAC address is one interface's. Borrows the allocators. Not thread-safe.
class Segment {
 public:
  /// That of `one`, which is among `all`.
  Segment(const std::vector<Allocator>& all, const Allocator& one) : all_(all), one_(one) {}

  /// Who has this MAC address; nullptr: nobody.
  [[nodiscard]] const Holder* FindMac(const MacAddress& mac) const;
  /// Why no interface with these addresses may have this MAC, whoever asks; nullopt: it may. The
  /// MAC that follows from an address of a network is for that address alone: a gateway's, too.
  [[nodiscard]] std::optional<std::string> WhyNotFor(const std::vector<Number>& addresses,
                                                     const MacAddress& mac) const;

 private:
  const std::vector<Allocator>& all_;
  const Allocator& one_;
};

}  // namespace kuryr::controller::pools
