#include "binding/binding.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "tests/binding/vifs.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;

std::string RefusedPath(const vif::Vif& vif) {
  try {
    (void)Binding(BindingConfig()).Plan(vif, "eth0");
  } catch (const ParseError& e) {
    return e.path();
  }
  return "";
}

std::string Unsupported(const vif::Vif& vif) {
  try {
    (void)Binding(BindingConfig()).Plan(vif, "eth0");
  } catch (const UnsupportedVif& e) {
    return e.what();
  }
  return "";
}

TEST(BindingTest, PlanOfAnOpenVSwitchVif) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.bridge_name = std::string("br-other");

  EXPECT_EQ(Binding(BindingConfig()).Plan(vif, "eth0"), (Plug{.driver = "ovs",
                                                              .ifname = "eth0",
                                                              .host_interface = "tap450e5c61-1",
                                                              .bridge = "br-other"}));
}

TEST(BindingTest, BridgeIsTheNetworksWhereTheVifNamesNone) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.bridge_name.reset();

  EXPECT_EQ(Binding(BindingConfig()).Plan(vif, "eth0").bridge, "br-int");
}

TEST(BindingTest, NeutronPortIsTheVifsIdWhereTheProfileNamesNone) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.port_profile.reset();

  EXPECT_NO_THROW((void)Binding(BindingConfig()).Plan(vif, "eth0"));
}

TEST(BindingTest, MissingFieldsAreNamed) {
  const vif::VifOpenVSwitch good = test::OvsVif(1);
  EXPECT_EQ(RefusedPath(good), "");
  vif::VifOpenVSwitch vif = good;
  vif.vif_name.reset();
  EXPECT_EQ(RefusedPath(vif), "$.vif_name");
  vif = good;
  vif.address = vif::Null();
  EXPECT_EQ(RefusedPath(vif), "$.address");
  vif = good;
  vif.bridge_name.reset();
  vif.network->bridge.reset();
  EXPECT_EQ(RefusedPath(vif), "$.bridge_name");
  vif = good;
  vif.port_profile.reset();
  vif.id.reset();
  EXPECT_EQ(RefusedPath(vif), "$.port_profile.interface_id");
}

TEST(BindingTest, HostileNamesAreRefused) {
  for (const char* name : {"", ".", "..", "../eth0", "a/b", "tap 0", "tap\n0", "tap%d", "tap:0",
                           "a-name-that-is-too-long", "\xc3\xa4"}) {
    vif::VifOpenVSwitch vif = test::OvsVif(1);
    vif.vif_name = std::string(name);
    EXPECT_EQ(RefusedPath(vif), "$.vif_name") << name;
    vif = test::OvsVif(1);
    vif.bridge_name = std::string(name);
    EXPECT_EQ(RefusedPath(vif), "$.bridge_name") << name;
    vif.bridge_name.reset();
    vif.network->bridge = std::string(name);
    EXPECT_EQ(RefusedPath(vif), "$.network.bridge") << name;
  }
}

TEST(BindingTest, WhatHasNoDriverIsNamedWithItsPlugin) {
  vif::VifVHostUser vif;
  vif.plugin = std::string("ovs");

  EXPECT_THAT(Unsupported(vif), HasSubstr("VIFVHostUser (plugin \"ovs\")"));
  EXPECT_THAT(Unsupported(vif::VifDirect()), HasSubstr("VIFDirect"));
}

TEST(BindingTest, PlanOfANestedVif) {
  const Plug plug{.driver = "nested", .ifname = "eth0"};

  EXPECT_EQ(Binding(BindingConfig()).Plan(test::MacvlanVif(1), "eth0"), plug);
  EXPECT_EQ(Binding(BindingConfig()).Plan(test::VlanVif(1, 101), "eth0"), plug);
}

TEST(BindingTest, PlanOfABridgeVif) {
  EXPECT_EQ(Binding(BindingConfig()).Plan(test::BridgeVif(1), "eth0"),
            (Plug{.driver = "bridge",
                  .ifname = "eth0",
                  .host_interface = "tap450e5c61-1",
                  .bridge = "br-lan"}));
}

TEST(BindingTest, MissingFieldsOfTheOtherKindsAreNamed) {
  vif::VifMacvlanNested macvlan = test::MacvlanVif(1);
  macvlan.address = vif::Null();
  EXPECT_EQ(RefusedPath(macvlan), "$.address");
  vif::VifVlanNested vlan = test::VlanVif(1, 101);
  vlan.vlan_id.reset();
  EXPECT_EQ(RefusedPath(vlan), "$.vlan_id");
  vif::VifBridge bridge = test::BridgeVif(1);
  bridge.address.reset();
  EXPECT_EQ(RefusedPath(bridge), "$.address");
  bridge = test::BridgeVif(1);
  bridge.vif_name = std::string("../tap");
  EXPECT_EQ(RefusedPath(bridge), "$.vif_name");
  bridge = test::BridgeVif(1);
  bridge.bridge_name = std::string("br%d");
  EXPECT_EQ(RefusedPath(bridge), "$.bridge_name");
}

TEST(BindingTest, MissingFieldsOfVirtualFunctionsAreNamed) {
  auto sriov = test::VifOf<vif::VifSriov>(1, "sriov");
  EXPECT_EQ(RefusedPath(sriov), "$.dev_address");
  sriov.network->should_provide_vlan = true;
  sriov.dev_address = vif::PciAddress();
  EXPECT_EQ(RefusedPath(sriov), "$.network.vlan");
  for (const char* name : {"0", "4095", "205x", "-1", "vlan205"}) {
    sriov.vlan_name = std::string(name);
    EXPECT_EQ(RefusedPath(sriov), "$.vlan_name") << name;
  }
  sriov.vlan_name = std::string("205");
  sriov.address.reset();
  EXPECT_EQ(RefusedPath(sriov), "$.address");
  vif::VifHostDevice device;
  static_cast<vif::VifBase&>(device) = test::OvsVif(1);
  EXPECT_EQ(RefusedPath(device), "$.dev_address");
  device.network->bridge = std::string("../br");
  device.dev_address = vif::PciAddress();
  EXPECT_EQ(RefusedPath(device), "$.network.bridge");
}

TEST(BindingTest, OtherWaysOfVirtualFunctionsAreUnsupported) {
  EXPECT_THAT(Unsupported(test::VifOf<vif::VifSriov>(1, "ovs")),
              HasSubstr("VIFSriov with plugin \"ovs\""));
  vif::VifHostDevice device;
  device.plugin = std::string("sriov");
  EXPECT_THAT(Unsupported(device), HasSubstr("VIFHostDevice with plugin \"sriov\""));
  device.plugin = std::string("ovs");
  device.dev_type = vif::HostDeviceType::kGeneric;
  EXPECT_THAT(Unsupported(device), HasSubstr("$.dev_type"));
}

TEST(BindingTest, OtherWaysOfTheOtherKindsAreUnsupported) {
  vif::VifMacvlanNested macvlan = test::MacvlanVif(1);
  macvlan.plugin = std::string("ovs");
  EXPECT_THAT(Unsupported(macvlan), HasSubstr("VIFMacvlanNested with plugin \"ovs\""));
  macvlan.plugin.reset();
  EXPECT_EQ(Unsupported(macvlan), "");
  vif::VifBridge bridge = test::BridgeVif(1);
  bridge.plugin = std::string("ovs");
  EXPECT_THAT(Unsupported(bridge), HasSubstr("VIFBridge with plugin \"ovs\""));
  bridge = test::BridgeVif(1);
  bridge.network->should_provide_vlan = true;
  EXPECT_EQ(Unsupported(bridge), "") << "counts only where the bridge is to be provided";
  bridge.network->should_provide_bridge = true;
  EXPECT_THAT(Unsupported(bridge), HasSubstr("$.network.should_provide_vlan"));
}

TEST(BindingTest, OtherPluginsAndWaysOfPluggingAreUnsupported) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.plugin = std::string("noop");
  EXPECT_THAT(Unsupported(vif), HasSubstr("VIFOpenVSwitch with plugin \"noop\""));
  vif.plugin.reset();
  EXPECT_THAT(Unsupported(vif), HasSubstr("VIFOpenVSwitch with plugin \"\""));
  vif = test::OvsVif(1);
  vif::PortProfileFpOpenVSwitch hybrid;
  hybrid.hybrid_plug = true;
  vif.port_profile = vif::PortProfile(hybrid);
  EXPECT_THAT(Unsupported(vif), HasSubstr("VIFPortProfileFPOpenVSwitch"));
  vif.port_profile = vif::PortProfile(vif::PortProfileOvsRepresentor());
  EXPECT_THAT(Unsupported(vif), HasSubstr("VIFPortProfileOVSRepresentor"));
}

TEST(BindingTest, DisconnectOfAnUnknownDriverIsRefused) {
  Binding binding{BindingConfig()};

  EXPECT_THROW(binding.Disconnect({.driver = "token-ring"}, {}, {}), UnsupportedVif);
}

TEST(BindingTest, FindPlugsNeedsNoOpenVSwitch) {
  Binding binding{BindingConfig{.ovsdb_connection = "unix:/nowhere/db.sock"}};

  EXPECT_THAT(binding.FindPlugs({.network = "kuryr", .container_id = "c", .ifname = "eth0"},
                                Deadline::After(std::chrono::seconds(60))),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace kuryr::binding
