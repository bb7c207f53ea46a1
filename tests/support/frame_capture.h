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
  std::optional<uint16_t> vlan_id;  ///< of its 802.1Q tag
  uint16_t protocol = 0;            ///< ETH_P_*, of what follows the tag
  std::vector<uint8_t> payload;     ///< what follows, at most its first 128 bytes
};

/// What a link of the calling thread's namespace sends and receives from construction on. For links
/// that leave tags to their device, as veth does; others would have them in the frame. Throws
/// std::system_error. See packet(7), PACKET_AUXDATA.
class FrameCapture {
 public:
  explicit FrameCapture(const std::string& link);

  /// What has come since the last call, without waiting.
  std::vector<Frame> Take();

 private:
  UniqueFd socket_;
};

}  // namespace kuryr::test
