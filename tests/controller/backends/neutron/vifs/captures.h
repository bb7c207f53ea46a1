#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "controller/backends/neutron/api/port.h"
#include "controller/backends/neutron/networks/networks.h"
#include "tests/support/paths.h"

// Answers of a real Neutron (tests/data/neutron-http), as the values that the client makes of them.

namespace kuryr::controller::neutron {

inline nlohmann::json ReadJson(const std::string& name) {
  const std::string path = test::TestData() + "/neutron-http/" + name + ".json";
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return nlohmann::json::parse(file);
}

/// The object in a captured answer.
inline nlohmann::json Answer(const std::string& name) {
  const nlohmann::json body =
      nlohmann::json::parse(ReadJson(name).at("answer").at("body").get<std::string>());
  return body.begin().value();
}

inline Port CapturedPort(const std::string& name) {
  const nlohmann::json said = Answer(name);
  const nlohmann::json& details = said.at("binding:vif_details");
  Port port{.id = said.at("id"),
            .network_id = said.at("network_id"),
            .device_id = said.at("device_id"),
            .mac = MacAddress::Parse(said.at("mac_address").get<std::string>()).value(),
            .active = said.at("status") == "ACTIVE",
            .vif_type = said.at("binding:vif_type"),
            .vnic_type = said.at("binding:vnic_type"),
            .vif_details = {.port_filter = details.value("port_filter", false),
                            .ovs_hybrid_plug = details.value("ovs_hybrid_plug", false),
                            .bridge_name = details.value("bridge_name", ""),
                            .datapath_type = details.value("datapath_type", ""),
                            .vhostuser_mode = details.value("vhostuser_mode", "")}};
  for (const nlohmann::json& ip : said.at("fixed_ips")) {
    port.fixed_ips.push_back(
        {ip.at("subnet_id"), IpAddress::Parse(ip.at("ip_address").get<std::string>()).value()});
  }
  return port;
}

inline Subnet CapturedSubnet(const std::string& name) {
  const nlohmann::json said = Answer(name);
  Subnet subnet{.id = said.at("id"),
                .network_id = said.at("network_id"),
                .cidr = IpNetwork::Parse(said.at("cidr").get<std::string>()).value()};
  if (!said.at("gateway_ip").is_null())
    subnet.gateway = IpAddress::Parse(said.at("gateway_ip").get<std::string>());
  for (const nlohmann::json& server : said.at("dns_nameservers"))
    subnet.dns.push_back(IpAddress::Parse(server.get<std::string>()).value());
  for (const nlohmann::json& route : said.at("host_routes")) {
    subnet.host_routes.push_back(
        {IpNetwork::Parse(route.at("destination").get<std::string>()).value(),
         IpAddress::Parse(route.at("nexthop").get<std::string>()).value()});
  }
  return subnet;
}

/// The network of a folder of captures.
inline PodNetwork CapturedNetwork(const std::string& folder) {
  const nlohmann::json said = Answer(folder + "network-get");
  PodNetwork found{
      .network = {.id = said.at("id"), .name = said.at("name"), .mtu = said.at("mtu")}};
  if (said.at("provider:network_type") == "vlan")
    found.network.vlan = said.at("provider:segmentation_id").get<uint16_t>();
  for (const char* subnet : {"subnet-create-ipv4", "subnet-create-ipv6"})
    found.subnets.push_back(CapturedSubnet(folder + subnet));
  return found;
}

}  // namespace kuryr::controller::neutron
