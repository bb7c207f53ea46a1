#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"
#include "controller/backends/pools/allocator.h"

namespace kuryr::controller::pools {

/// The pools whose pods share a link: all pools of one bridge, or all on the node's link. A MAC
/// address must be unique there. Borrows the allocators. Not thread-safe.
class Segment {
 public:
  /// The segment of `one`, which is an element of `all`.
  Segment(const std::vector<Allocator>& all, const Allocator& one) : all_(all), one_(one) {}

  /// The holder of this MAC address; nullptr: none.
  [[nodiscard]] const Holder* FindMac(const MacAddress& mac) const;
  /// Why an interface with these addresses must not have this MAC; nullopt: it may. MACs of the
  /// form 0a:58 and an address are not for wishes: pods, nodes and gateways have them, and the
  /// routers that a backend makes, also those that are yet to come.
  [[nodiscard]] static std::optional<std::string> WhyNotFor(const std::vector<Number>& addresses,
                                                            const MacAddress& mac);

 private:
  const std::vector<Allocator>& all_;
  const Allocator& one_;
};

}  // namespace kuryr::controller::pools
