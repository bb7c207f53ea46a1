#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/ip.h"
#include "controller/backends/pools/number.h"

namespace kuryr::controller::pools {

/// A network that is divided into blocks, one for each node that has no network of its own.
struct NodeBlocks {
  IpNetwork cidr;             ///< without host bits
  uint8_t prefix_length = 0;  ///< a block's; longer than that of cidr, by 16 at most

  /// Whether `network` is one of the blocks.
  [[nodiscard]] bool Has(const IpNetwork& network) const noexcept;
};

/// A block as seen by the node that looks for one.
enum class BlockState {
  kFree,
  kOthers,  ///< it overlaps a known network, or another node's owners have addresses in it
  kOwn,     ///< owners of the node have addresses in it
};

/// The node's own block, else the first free one; nullopt: all are others'.
[[nodiscard]] std::optional<IpNetwork> ChooseBlock(
    const NodeBlocks& blocks, const std::function<BlockState(const IpNetwork& block)>& state_of);

}  // namespace kuryr::controller::pools
