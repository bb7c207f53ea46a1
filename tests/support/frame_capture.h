#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mac.h"
#include "base/unique_fd.h"

namespace kuryr::test {

/// An Ethernet frame.
struct Frame {
  bool outgoing = false;
  MacAddress destination;
  MacAddress source;
  std::optional<uint16_t> vlan_id;  ///< VLAN id of its 802.1Q tag
  uint16_t protocol = 0;            ///< ETH_P_*, the type of the payload
  std::vector<uint8_t> payload;     ///< at most the first 128 bytes
};

/// Captures the frames that a link of the calling thread's namespace sends and receives, from
/// construction on. For links that leave tags to their device, as veth does; other links would have
/// tags in the frame. Throws std::system_error. See packet(7), PACKET_AUXDATA.
class FrameCapture {
 public:
  explicit FrameCapture(const std::string& link);

  /// The frames since the last call, without waiting.
  std::vector<Frame> Take();

 private:
  UniqueFd socket_;
};

}  // namespace kuryr::test
