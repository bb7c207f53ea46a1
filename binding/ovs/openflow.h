#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/ip.h"
#include "base/mac.h"
#include "base/unique_fd.h"

namespace kuryr::binding {

/// Fields of packets, by their numbers in OpenFlow 1.3 (7.2.3.7).
enum class FlowField : uint8_t {
  kInPort = 0,
  kEthernetSource = 4,
  kEthernetType = 5,
  kVlan = 6,
  kIpProtocol = 10,
  kIpv4Source = 11,
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
  FlowMatch InPort(uint32_t port) const;
  FlowMatch EthernetType(uint16_t type) const;
  FlowMatch Untagged() const;
  FlowMatch Number8(FlowField field, uint8_t value) const;
  FlowMatch Number16(FlowField field, uint16_t value) const;
  FlowMatch Mac(FlowField field, const MacAddress& mac) const;
  FlowMatch Ip(FlowField field, const IpAddress& address) const;
  /// Packets that no flow with `passes` has passed yet.
  FlowMatch Unpassed() const;

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

/// A connection to ovs-vswitchd for the flows of one bridge. Throws std::system_error: ENOENT and
/// ECONNREFUSED where ovs-vswitchd or the bridge is not there, ECONNRESET when it ends. Throws
/// OvsError for what ovs-vswitchd refuses. Not thread-safe.
class OpenFlow {
 public:
  /// `ovsdb_connection`: as BindingConfig::ovsdb_connection; the bridge's socket is in its folder.
  OpenFlow(const std::string& ovsdb_connection, const std::string& bridge,
           const Deadline& deadline);
  /// The folder with the sockets of all bridges.
  [[nodiscard]] static std::string FolderOf(const std::string& ovsdb_connection);

  /// Adds a flow, in the place of one with its priority and match. Finish sends it.
  void Add(uint64_t cookie, const Flow& flow);
  /// Deletes the flows of table 0 that have `match` and these bits of the cookie. Finish sends it.
  void Delete(uint64_t cookie, uint64_t mask, const FlowMatch& match);
  /// Returns when ovs-vswitchd has done all, in order.
  void Finish(const Deadline& deadline);
  /// The number of flows of table 0 that have `match` and these bits of the cookie.
  [[nodiscard]] uint32_t Count(uint64_t cookie, uint64_t mask, const FlowMatch& match,
                               const Deadline& deadline);
  /// Returns when ovs-vswitchd ends, or removes the bridge.
  void WaitUntilClosed(const Deadline& deadline);

 private:
  using Bytes = std::vector<uint8_t>;

  void Append(const Bytes& message) { out_.insert(out_.end(), message.begin(), message.end()); }
  void Send(const Deadline& deadline);
  /// The next message of this type, whole. Throws an error that comes before it.
  [[nodiscard]] Bytes Await(uint8_t type, const Deadline& deadline);
  [[nodiscard]] Bytes Receive(const Deadline& deadline);
  void WaitFor(short events, const Deadline& deadline) const;

  const std::string what_;
  UniqueFd socket_;
  Bytes out_;
  Bytes in_;
};

}  // namespace kuryr::binding
