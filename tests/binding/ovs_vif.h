#pragma once

#include <string>

#include "vif/vif.h"

namespace kuryr::test {

inline std::string HexByte(int value) {
  constexpr const char* kDigits = "0123456789abcdef";
  return {kDigits[value / 16], kDigits[value % 16]};
}

/// The VIF of pod number `n` (below 160), as kuryr's controller makes one: 10.1.0.N/24 and
/// fd00::N/64 on br-int, MTU 1450.
inline vif::VifOpenVSwitch OvsVif(int n) {
  const std::string id = "450e5c61-dc7c-5f0d-84da-bc7052e8b5" + HexByte(0x40 + n);
  const auto subnet = [n](const std::string& cidr, const std::string& gateway,
                          const std::string& prefix) {
    vif::Subnet made;
    made.cidr = *IpNetwork::Parse(cidr);
    made.gateway = *IpAddress::Parse(gateway);
    vif::FixedIp ip;
    ip.address = *IpAddress::Parse(prefix + std::to_string(n));
    made.ips.emplace().objects.emplace().push_back(ip);
    return made;
  };
  vif::VifOpenVSwitch vif;
  vif.id = id;
  vif.address = *MacAddress::Parse("fa:16:3e:80:d4:" + HexByte(n));
  vif.plugin = std::string("ovs");
  vif.vif_name = "tap" + id.substr(0, 8) + "-" + std::to_string(n);
  vif.bridge_name = std::string("br-int");
  vif::PortProfileOpenVSwitch profile;
  profile.interface_id = id;
  vif.port_profile = vif::PortProfile(profile);
  vif::Network& network = vif.network.emplace();
  network.bridge = std::string("br-int");
  network.mtu = 1450U;
  auto& subnets = network.subnets.emplace().objects.emplace();
  subnets.push_back(subnet("10.1.0.0/24", "10.1.0.254", "10.1.0."));
  subnets.push_back(subnet("fd00::/64", "fd00::ff", "fd00::"));
  return vif;
}

/// As OvsVif, without a network on its link: 10.1.0.N/32 and fd00::N/128.
inline vif::VifOpenVSwitch AloneVif(int n) {
  vif::VifOpenVSwitch vif = OvsVif(n);
  auto& subnets = *vif.network->subnets->objects;
  subnets[0].cidr = *IpNetwork::Parse("10.1.0." + std::to_string(n) + "/32");
  subnets[1].cidr = *IpNetwork::Parse("fd00::" + std::to_string(n) + "/128");
  return vif;
}

}  // namespace kuryr::test
