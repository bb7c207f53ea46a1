#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"

// Frames as an attacker with NET_RAW writes them. Checksums are left out: no switch looks at them.

namespace kuryr::test {

using FrameBytes = std::vector<uint8_t>;

struct NamedFrame {
  std::string name;
  FrameBytes bytes;
  size_t headers = 14;  ///< of Ethernet, with tags
};

inline MacAddress Mac(const std::string& text) { return MacAddress::Parse(text).value(); }
inline IpAddress Ip(const std::string& text) { return IpAddress::Parse(text).value(); }

/// Parts of a frame, one after the other.
class FrameBuilder {
 public:
  FrameBuilder& Add(std::initializer_list<int> numbers) {
    for (const int number : numbers) bytes_.push_back(static_cast<uint8_t>(number));
    return *this;
  }
  FrameBuilder& Add(const MacAddress& mac) {
    bytes_.insert(bytes_.end(), mac.bytes.begin(), mac.bytes.end());
    return *this;
  }
  FrameBuilder& Add(const IpAddress& ip) {
    bytes_.insert(bytes_.end(), ip.bytes.begin(), ip.bytes.begin() + static_cast<long>(ip.size()));
    return *this;
  }
  FrameBuilder& Add(const FrameBytes& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  [[nodiscard]] const FrameBytes& bytes() const { return bytes_; }

 private:
  FrameBytes bytes_;
};

inline FrameBytes ArpFrame(const MacAddress& source, int operation, const MacAddress& sender_mac,
                           const IpAddress& sender, const IpAddress& target) {
  return FrameBuilder()
      .Add(Mac("ff:ff:ff:ff:ff:ff"))
      .Add(source)
      .Add({0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, operation})
      .Add(sender_mac)
      .Add(sender)
      .Add(MacAddress{})
      .Add(target)
      .bytes();
}

/// Empty datagrams of UDP.
inline const FrameBytes kEcho = {0, 7, 0, 7, 0, 8, 0, 0};
inline const FrameBytes kDhcpAnswer = {0, 67, 0, 68, 0, 8, 0, 0};

inline FrameBytes Ipv4Frame(const MacAddress& destination, const MacAddress& source,
                            const IpAddress& from, const IpAddress& to,
                            const FrameBytes& datagram = kEcho) {
  return FrameBuilder()
      .Add(destination)
      .Add(source)
      .Add({0x08, 0x00, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0})
      .Add(from)
      .Add(to)
      .Add(datagram)
      .bytes();
}

inline FrameBytes IpFrame(const MacAddress& destination, const MacAddress& source,
                          const IpAddress& from, const IpAddress& to, int protocol,
                          const FrameBytes& payload) {
  const int size = 20 + static_cast<int>(payload.size());
  return FrameBuilder()
      .Add(destination)
      .Add(source)
      .Add({0x08, 0x00, 0x45, 0, 0, size, 0, 0, 0, 0, 64, protocol, 0, 0})
      .Add(from)
      .Add(to)
      .Add(payload)
      .bytes();
}

inline FrameBytes Ipv6Frame(const MacAddress& destination, const MacAddress& source,
                            const IpAddress& from, const IpAddress& to, int protocol,
                            const FrameBytes& payload) {
  return FrameBuilder()
      .Add(destination)
      .Add(source)
      .Add({0x86, 0xdd, 0x60, 0, 0, 0, 0, static_cast<int>(payload.size()), protocol, 255})
      .Add(from)
      .Add(to)
      .Add(payload)
      .bytes();
}

/// A message of Neighbour Discovery from `from` to all nodes. `options` follow the target.
inline FrameBytes NdFrame(const MacAddress& source, const IpAddress& from, int type,
                          const IpAddress& target, const FrameBytes& options) {
  const FrameBytes message =
      FrameBuilder().Add({type, 0, 0, 0, 0x20, 0, 0, 0}).Add(target).Add(options).bytes();
  return Ipv6Frame(Mac("33:33:00:00:00:01"), source, from, Ip("ff02::1"), 58, message);
}

/// Option 1 is the source's address, option 2 the target's.
inline FrameBytes NdOption(int type, const MacAddress& mac) {
  return FrameBuilder().Add({type, 1}).Add(mac).bytes();
}

}  // namespace kuryr::test
