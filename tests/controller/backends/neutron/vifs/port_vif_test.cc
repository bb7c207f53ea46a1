#include "controller/backends/neutron/vifs/port_vif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "controller/backends/backend.h"
#include "tests/controller/backends/neutron/vifs/captures.h"
#include "vif/pod_vifs.h"

// Compares the translation with that of Kuryr's own translators of the same port.

namespace kuryr::controller::neutron {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Translated(const Port& port, const std::string& folder = "") {
  return vif::EncodeVif(VifOf(port, CapturedNetwork(folder), {}));
}

/// The VIF as sink podstate writes it.
json Annotated(const Port& port, const std::string& folder = "") {
  return json::parse(
      vif::EncodeAnnotation({{"eth0", true, VifOf(port, CapturedNetwork(folder), {})}}));
}

json& ProfileOf(json& vif) {
  return vif["versioned_object.data"]["port_profile"]["versioned_object.data"];
}

class PortVifTest : public ::testing::TestWithParam<const char*> {};

TEST_P(PortVifTest, WithOvnIsKuryrsFieldByField) {
  EXPECT_EQ(Translated(CapturedPort(GetParam())), ReadJson(GetParam() + std::string(".vif")));
}

TEST_P(PortVifTest, WithOvsIsKuryrsAndSaysTheDatapathType) {
  const std::string name = "ml2-ovs/" + std::string(GetParam());
  json kuryrs = ReadJson(name + ".vif");
  ProfileOf(kuryrs)["datapath_type"] = "netdev";

  EXPECT_EQ(Translated(CapturedPort(name), "ml2-ovs/"), kuryrs);
}

TEST_P(PortVifTest, AnnotationIsKuryrsFieldByField) {
  const std::string ovs = "ml2-ovs/" + std::string(GetParam());
  json kuryrs = ReadJson(ovs + ".annotation");
  ProfileOf(kuryrs["versioned_object.data"]["default_vif"])["datapath_type"] = "netdev";

  EXPECT_EQ(Annotated(CapturedPort(GetParam())), ReadJson(GetParam() + std::string(".annotation")));
  EXPECT_EQ(Annotated(CapturedPort(ovs), "ml2-ovs/"), kuryrs);
}

INSTANTIATE_TEST_SUITE_P(Captures, PortVifTest,
                         ::testing::Values("port-create-of-a-pod", "port-get-active"),
                         [](const auto& tested) {
                           return std::string(tested.param) == "port-get-active" ? "Active" : "New";
                         });

class OtherPortVifTest : public ::testing::Test {
 protected:
  OtherPortVifTest() { port_.vif_details.port_filter = true; }

  /// The VIF that Kuryr makes of the captured port, with the changes of the kind.
  json Expected(const char* kind, const char* version) const {
    json vif = ReadJson("port-create-of-a-pod.vif");
    vif["versioned_object.name"] = kind;
    vif["versioned_object.version"] = version;
    return vif;
  }
  std::string Refusal() const {
    try {
      (void)VifOf(port_, network_, {});
    } catch (const PlanError& e) {
      EXPECT_EQ(e.kind(), PlanError::Kind::kRefused);
      return e.what();
    }
    return "";
  }

  Port port_ = CapturedPort("port-create-of-a-pod");
  PodNetwork network_ = CapturedNetwork("");
};

TEST_F(OtherPortVifTest, HybridPlugIsALinuxBridge) {
  port_.vif_details.ovs_hybrid_plug = true;
  json expected = Expected("VIFBridge", "1.0");
  expected["versioned_object.data"]["bridge_name"] = "qbr" + port_.id.substr(0, 11);

  EXPECT_EQ(Translated(port_), expected);
}

TEST_F(OtherPortVifTest, VhostUserHasItsSocketInThePodsFolder) {
  for (const char* mode : {"client", "server"}) {
    port_.vif_details.vhostuser_mode = mode;
    json expected = Expected("VIFVHostUser", "1.1");
    const std::string name = "vhu" + port_.id.substr(0, 11);
    json& data = expected["versioned_object.data"];
    data.erase("bridge_name");
    data.update({{"vif_name", name}, {"path", "/var/cni/vhostuser/" + name}, {"mode", mode}});

    EXPECT_EQ(Translated(port_), expected);
  }
}

TEST_F(OtherPortVifTest, VirtualFunctionHasTheNetworksVlan) {
  port_.vif_type = "hw_veb";
  network_.network.vlan = 205;

  const auto vif = std::get<vif::VifSriov>(VifOf(port_, network_, {}));

  EXPECT_EQ(*vif.plugin, "sriov");
  EXPECT_EQ(*vif.vlan_name, "205");
  EXPECT_EQ(*vif.mode, vif::DirectMode::kPassthrough);
  EXPECT_TRUE(*vif.network->should_provide_vlan);
  EXPECT_FALSE(vif.network->bridge.is_set());
}

TEST_F(OtherPortVifTest, BridgeIsNeutronsOrElseKuryrConfs) {
  const auto bridge = [&](const PodDefaults& defaults) {
    const auto vif = std::get<vif::VifOpenVSwitch>(VifOf(port_, network_, defaults));
    EXPECT_EQ(*vif.bridge_name, *vif.network->bridge);
    return *vif.bridge_name;
  };
  EXPECT_EQ(bridge({}), "br-int");
  EXPECT_EQ(bridge({.bridge = "br-pods"}), "br-pods");
  port_.vif_details.bridge_name = "br-neutron";
  EXPECT_EQ(bridge({.bridge = "br-pods"}), "br-neutron");
}

TEST_F(OtherPortVifTest, SubnetWithoutGatewayAndNetworkWithoutMtu) {
  network_.subnets[0].gateway.reset();
  network_.network.mtu = 0;

  const vif::Vif vif = VifOf(port_, network_, {});

  EXPECT_FALSE((*vif::Common(vif).network->subnets)[0].gateway.is_set());
  EXPECT_TRUE(vif::Common(vif).network->mtu.is_null());
}

TEST_F(OtherPortVifTest, TwoAddressesOfOneSubnetAreInOne) {
  const std::string second = "10.10.0.180";
  port_.fixed_ips.push_back({port_.fixed_ips[0].subnet_id, IpAddress::Parse(second).value()});

  const vif::Vif vif = VifOf(port_, network_, {});

  const vif::SubnetList& subnets = *vif::Common(vif).network->subnets;
  ASSERT_EQ(subnets.size(), 2U);
  ASSERT_EQ(subnets[0].ips->size(), 2U);
  EXPECT_EQ((*subnets[0].ips)[1].address->ToString(), second);
}

TEST_F(OtherPortVifTest, AddressOutsideTheSubnetsIsLeftOut) {
  network_.subnets.pop_back();
  EXPECT_EQ(vif::Common(VifOf(port_, network_, {})).network->subnets->size(), 1U);

  network_.subnets.clear();
  EXPECT_THAT(Refusal(), HasSubstr("has no address of the pod's subnets"));
}

TEST_F(OtherPortVifTest, WhatCannotBePluggedIsRefused) {
  port_.vif_type = "bridge";
  EXPECT_THAT(Refusal(), HasSubstr("binding:vif_type \"bridge\"; expected ovs"));
  port_.vif_type = "";
  EXPECT_THAT(Refusal(), HasSubstr("role admin"));
  port_.network_id = "other";
  EXPECT_THAT(Refusal(), HasSubstr("is in network other"));
}

TEST_F(OtherPortVifTest, IsToldFromAVifThatIsNoPorts) {
  vif::Vif vif = VifOf(port_, network_, {});
  EXPECT_TRUE(IsPortVif(vif));

  auto pools = std::get<vif::VifOpenVSwitch>(vif);
  pools.id = "5f1b4e6c-0000-8000-8000-000000000001";
  EXPECT_FALSE(IsPortVif(pools)) << "a pool's";
  auto others = std::get<vif::VifOpenVSwitch>(vif);
  others.plugin = "noop";
  EXPECT_FALSE(IsPortVif(others));
  vif::Common(vif).port_profile.reset();
  EXPECT_FALSE(IsPortVif(vif)) << "no port profile";
}

}  // namespace
}  // namespace kuryr::controller::neutron
