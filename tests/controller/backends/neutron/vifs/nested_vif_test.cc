#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "controller/backends/backend.h"
#include "controller/backends/neutron/vifs/port_vif.h"
#include "tests/support/paths.h"
#include "vif/vif.h"

// Compares nested pods' VIFs with those that Kuryr's own classes made of the same values
// (tests/data/vif-samples).

namespace kuryr::controller::neutron {
namespace {

using nlohmann::json;

json Sample(const std::string& name) {
  std::ifstream file(test::TestData() + "/vif-samples/vif/" + name + ".json");
  EXPECT_TRUE(file) << name;
  return json::parse(file);
}

/// The port of the sample.
Port PortOf(const json& sample) {
  const json& data = sample.at("versioned_object.data");
  const json& network = data.at("network").at("versioned_object.data");
  const json& subnet = network.at("subnets")
                           .at("versioned_object.data")
                           .at("objects")
                           .at(0)
                           .at("versioned_object.data");
  const json& ip = subnet.at("ips").at("versioned_object.data").at("objects").at(0);
  const std::string address = ip.at("versioned_object.data").at("address");
  return {.id = data.at("id"),
          .network_id = network.at("id"),
          .mac = MacAddress::Parse(data.at("address").get<std::string>()).value(),
          .fixed_ips = {{"subnet", IpAddress::Parse(address).value()}},
          .active = data.at("active"),
          .vif_type = "unbound"};
}

PodNetwork SampleNetwork() {
  const auto ip = [](const char* text) { return IpAddress::Parse(text).value(); };
  return {
      .network = {.id = "f5703a6c-299d-5e80-a783-7c45b151f528", .name = "k8s-pod-net", .mtu = 1450},
      .subnets = {{.id = "subnet",
                   .cidr = IpNetwork::Parse("10.1.0.0/16").value(),
                   .gateway = ip("10.1.0.1"),
                   .dns = {ip("10.0.0.10"), ip("8.8.8.8")}}}};
}

TEST(NestedVifTest, VlanIsKuryrsFieldByField) {
  const json sample = Sample("nested-vlan-ipv4-active");

  EXPECT_EQ(vif::EncodeVif(VlanVifOf(PortOf(sample), SampleNetwork(), 101)), sample);
}

TEST(NestedVifTest, MacvlanIsKuryrsFieldByField) {
  const json sample = Sample("nested-macvlan-ipv4-active");
  Port port = PortOf(sample);
  port.active = false;

  EXPECT_EQ(vif::EncodeVif(MacvlanVifOf(port, SampleNetwork())), sample)
      << "active, whatever Neutron says of a port that is bound to nothing";
}

TEST(NestedVifTest, KindsAreToldApart) {
  const json sample = Sample("nested-vlan-ipv4-active");
  Port port = PortOf(sample);
  const vif::Vif vlan = VlanVifOf(port, SampleNetwork(), 101);
  const vif::Vif macvlan = MacvlanVifOf(port, SampleNetwork());

  EXPECT_TRUE(IsNestedVif<vif::VifVlanNested>(vlan));
  EXPECT_FALSE(IsNestedVif<vif::VifMacvlanNested>(vlan));
  EXPECT_TRUE(IsNestedVif<vif::VifMacvlanNested>(macvlan));
  EXPECT_FALSE(IsPortVif(vlan));
  port.id = "5f1b4e6c-0000-8000-8000-000000000001";
  EXPECT_FALSE(IsNestedVif<vif::VifVlanNested>(VlanVifOf(port, SampleNetwork(), 101)))
      << "a pool's";
}

TEST(NestedVifTest, PortOfAnotherNetworkIsRefused) {
  Port port = PortOf(Sample("nested-vlan-ipv4-active"));
  port.network_id = "other";

  EXPECT_THROW((void)VlanVifOf(port, SampleNetwork(), 1), PlanError);
  EXPECT_THROW((void)MacvlanVifOf(port, SampleNetwork()), PlanError);
}

}  // namespace
}  // namespace kuryr::controller::neutron
