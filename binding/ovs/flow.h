#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ip.h"
#include "base/mac.h"

namespace kuryr::binding {

/// Fields of packets, by their numbers in OpenFlow 1.3 (7.2.3.7).
enum class FlowField : uint8_t {
  kInPort = 0,
  kEthernetSource = 4,
  kEthernetType = 5,
  kVlan = 6,
  kIpProtocol = 10,
  kIpv4Source = 11,
  kIpv4Destination = 12,
  kUdpSource = 15,
  kUdpDestination = 16,
  kIcmpv4Type = 19,
  kArpOperation = 21,
  kArpSenderIp = 22,
  kArpSenderMac = 24,
  kIpv6Source = 26,
  kIcmpv6Type = 29,
  kNdTarget = 31,
  kNdSourceMac = 32,
  kNdTargetMac = 33,
};

/// The packets that have all of these values. A field comes after those that it needs: an address
/// after the Ethernet type.
class FlowMatch {
 public:
  [[nodiscard]] FlowMatch InPort(uint32_t port) const;
  [[nodiscard]] FlowMatch EthernetType(uint16_t type) const;
  [[nodiscard]] FlowMatch Untagged() const;
  [[nodiscard]] FlowMatch Number8(FlowField field, uint8_t value) const;
  [[nodiscard]] FlowMatch Number16(FlowField field, uint16_t value) const;
  [[nodiscard]] FlowMatch Mac(FlowField field, const MacAddress& mac) const;
  [[nodiscard]] FlowMatch Ip(FlowField field, const IpAddress& address) const;
  /// Packets that no flow with `passes` has passed yet.
  [[nodiscard]] FlowMatch Unpassed() const;

  [[nodiscard]] const std::vector<uint8_t>& fields() const noexcept { return fields_; }

 private:
  [[nodiscard]] FlowMatch With(FlowField field, std::span<const uint8_t> value) const;

  std::vector<uint8_t> fields_;
};

/// A flow of table 0.
struct Flow {
  uint16_t priority = 0;
  FlowMatch match;
  /// The packet goes on to the other flows of table 0, and is Unpassed no more. False: it is
  /// dropped.
  bool passes = false;
};

/// A flow that a bridge has.
struct PresentFlow {
  uint64_t cookie = 0;
  uint32_t in_port = 0;  ///< 0: it names none

  auto operator<=>(const PresentFlow&) const = default;
};

}  // namespace kuryr::binding
