#include "controller/backends/pools/node_blocks.h"

namespace kuryr::controller::pools {

bool NodeBlocks::Has(const IpNetwork& network) const noexcept {
  return network.prefix_length == prefix_length && network.Masked() == network &&
         network.address.family == cidr.address.family && cidr.Contains(network.address);
}

std::optional<IpNetwork> ChooseBlock(
    const NodeBlocks& blocks, const std::function<BlockState(const IpNetwork& block)>& state_of) {
  const unsigned width = blocks.cidr.address.family == IpFamily::kIpv4 ? 32 : 128;
  const Number size = Number{1} << (width - blocks.prefix_length);
  const Range all = RangeOf(blocks.cidr);
  std::optional<IpNetwork> free;
  for (Number first = all.first; first <= all.last && first >= all.first; first += size) {
    const IpNetwork block = {.address = AddressOf(first), .prefix_length = blocks.prefix_length};
    const BlockState state = state_of(block);
    if (state == BlockState::kOwn) return block;
    if (state == BlockState::kFree && !free) free = block;
  }
  return free;
}

}  // namespace kuryr::controller::pools
