#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vif/pod_vifs.h"

namespace kuryr::test {

/// A management port's VIF "kuryr0" on br-int, as kuryr-controller plans it for a node:
/// {network, the port's address} for each subnet.
inline vif::PodVif NodeVif(const std::vector<std::pair<std::string, std::string>>& subnets = {
                               {"10.244.1.0/24", "10.244.1.1"}, {"fd00:1:1::/64", "fd00:1:1::1"}}) {
  const std::string id = "5f0d84da-dc7c-4e5c-84da-bc7052e8b501";
  vif::VifOpenVSwitch vif;
  vif.id = id;
  vif.address = *MacAddress::Parse("fa:16:3e:0a:00:01");
  vif.plugin = std::string("ovs");
  vif.active = true;
  vif.vif_name = std::string("kuryr0");
  vif.bridge_name = std::string("br-int");
  vif::PortProfileOpenVSwitch profile;
  profile.interface_id = id;
  vif.port_profile = vif::PortProfile(profile);
  vif::Network& network = vif.network.emplace();
  network.mtu = 1450U;
  auto& made = network.subnets.emplace().objects.emplace();
  for (const auto& [cidr, address] : subnets) {
    vif::Subnet& subnet = made.emplace_back();
    subnet.cidr = *IpNetwork::Parse(cidr);
    vif::FixedIp ip;
    ip.address = *IpAddress::Parse(address);
    subnet.ips.emplace().objects.emplace().push_back(ip);
  }
  return {.ifname = "kuryr0", .is_default = true, .vif = vif};
}

}  // namespace kuryr::test
