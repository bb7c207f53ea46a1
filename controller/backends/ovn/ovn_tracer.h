#pragma once

#include <string>

#include "controller/backends/facets.h"
#include "controller/backends/ovn/ovn_options.h"
#include "vif/vif.h"

namespace kuryr::controller::ovn {

/// Asks Debian's program ovn-trace (ovn-trace(8)), which reads the southbound database.
/// Thread-safe.
class OvnTracer final : public PacketTracer {
 public:
  explicit OvnTracer(const OvnOptions& options);

  /// Throws std::runtime_error if ovn-trace cannot be executed or fails, or if no port of OVN leads
  /// from one pod to the other one.
  [[nodiscard]] PacketFate Trace(const TracedPacket& packet) const override;

 private:
  const OvnOptions options_;
};

/// The packet as ovn-trace reads it: an expression of ovn-sb(5). The packet's next hop is the peer
/// on its own network, and the router's port otherwise. Throws std::runtime_error if no address of
/// both pods has the same family, or if OVN has no gateway of the pod's network.
[[nodiscard]] std::string MicroflowOf(const TracedPacket& packet);

/// Reads an output of `ovn-trace --detailed` of a packet to this logical port. Throws
/// std::runtime_error for an output without a table, and for one of an ovn-trace that does not
/// understand the database.
[[nodiscard]] PacketFate FateOf(const std::string& output, const std::string& port);

}  // namespace kuryr::controller::ovn
