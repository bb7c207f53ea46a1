#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/ip.h"

namespace kuryr::binding {

/// How packets of virtual networks leave the node.
struct Tunnel {
  std::string type;   ///< "geneve", "vxlan"
  IpAddress address;  ///< the node's, where they begin

  /// Bytes that its headers take, as OVN and Neutron reckon it: Geneve 38 and VXLAN 30, and the
  /// outer IP header.
  [[nodiscard]] uint32_t overhead() const noexcept;
};

/// OVN's of Open_vSwitch.external_ids (ovn-encap-ip, ovn-encap-type), else that of a tunnel port,
/// as Neutron's agent makes them; nullopt: there is none. Throws what OvsdbClient throws.
[[nodiscard]] std::optional<Tunnel> FindTunnel(const std::string& remote, const Deadline& deadline);

}  // namespace kuryr::binding
