#include "binding/drivers/binding.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "tests/binding/everything.h"
#include "tests/binding/vifs.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;

/// The config of a node that allows all.
Binding AnyBinding() { return Binding(test::WithEverything({})); }

std::string RefusedPath(const vif::Vif& vif) {
  try {
    (void)AnyBinding().Plan({"eth0", true, vif});
  } catch (const MalformedVif& e) {
    return e.path();
  }
  return "";
}

std::string Unsupported(const vif::Vif& vif) {
  try {
    (void)AnyBinding().Plan({"eth0", true, vif});
  } catch (const UnsupportedVif& e) {
    return e.what();
  }
  return "";
}

TEST(BindingTest, PlanOfAnOpenVSwitchVif) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.bridge_name = std::string("br-other");

  EXPECT_EQ(AnyBinding().Plan({"eth0", true, vif}).plug, (Plug{.driver = "ovs",
                                                               .ifname = "eth0",
                                                               .host_interface = "tap450e5c61-1",
                                                               .bridge = "br-other"}));
}

TEST(BindingTest, BridgeIsTheNetworksWhereTheVifNamesNone) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.bridge_name.reset();

  EXPECT_EQ(AnyBinding().Plan({"eth0", true, vif}).plug.bridge, "br-int");
}

TEST(BindingTest, NeutronPortIsTheVifsIdWhereTheProfileNamesNone) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.port_profile.reset();

  EXPECT_NO_THROW((void)AnyBinding().Plan({"eth0", true, vif}));
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

TEST(BindingTest, NamesOfDevicesToComeAreNoHostInterfaces) {
  vif::VifOpenVSwitch ovs = test::OvsVif(1);
  vif::VifBridge bridge = test::BridgeVif(1);
  vif::VifBridge hybrid = test::HybridVif(1);
  for (vif::Field<std::string>* name : {&ovs.vif_name, &bridge.vif_name, &hybrid.vif_name})
    *name = std::string("wg1");
  for (const vif::Vif& vif : std::initializer_list<vif::Vif>{ovs, bridge, hybrid})
    EXPECT_THAT(Unsupported(vif), HasSubstr("\"host_interfaces = tap*, wg1\" allows it"));
  EXPECT_EQ(Unsupported(test::VhostUserVif(1, vif::VHostUserMode::kClient)), "");
}

TEST(BindingTest, NameThatADeviceHasIsRefusedAsItsOwn) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.vif_name = std::string("lo");
  try {
    (void)AnyBinding().Plan({"eth0", true, vif});
    ADD_FAILURE() << "lo is planned";
  } catch (const HostInterfaceInUse& e) {
    EXPECT_THAT(e.what(), HasSubstr("lo was not made by kuryr-cni"));
  }
}

TEST(BindingTest, WhatHasNoDriverIsNamedWithItsPlugin) {
  vif::VifGeneric vif;
  vif.plugin = std::string("ovs");

  EXPECT_THAT(Unsupported(vif), HasSubstr("VIFGeneric (plugin \"ovs\")"));
  EXPECT_THAT(Unsupported(vif::VifDirect()), HasSubstr("VIFDirect"));
}

TEST(BindingTest, PlanOfANestedVif) {
  const Plug plug{.driver = "nested", .ifname = "eth0"};

  EXPECT_EQ(AnyBinding().Plan({"eth0", true, test::MacvlanVif(1)}).plug, plug);
  EXPECT_EQ(AnyBinding().Plan({"eth0", true, test::VlanVif(1, 101)}).plug, plug);
}

TEST(BindingTest, PlanOfABridgeVif) {
  EXPECT_EQ(AnyBinding().Plan({"eth0", true, test::BridgeVif(1)}).plug,
            (Plug{.driver = "bridge",
                  .ifname = "eth0",
                  .host_interface = "tap450e5c61-1",
                  .bridge = "br-lan"}));
}

TEST(BindingTest, PlanOfAHybridVif) {
  EXPECT_EQ(AnyBinding().Plan({"eth0", true, test::HybridVif(1)}).plug,
            (Plug{.driver = "hybrid",
                  .ifname = "eth0",
                  .host_interface = "tap450e5c61-1",
                  .bridge = "br-int",
                  .device = "qbr450e5c61-1"}));
}

TEST(BindingTest, PlanOfAVhostUserVif) {
  const Plug plug{.driver = "vhostuser",
                  .ifname = "eth0",
                  .host_interface = "vhu450e5c61-dc",
                  .bridge = "br-int",
                  .device = "/var/cni/vhostuser/vhu450e5c61-dc"};
  for (const auto mode : {vif::VHostUserMode::kClient, vif::VHostUserMode::kServer}) {
    vif::VifVHostUser vif = test::VhostUserVif(1, mode);
    EXPECT_EQ(AnyBinding().Plan({"eth0", true, vif}).plug, plug);
    vif.vif_name.reset();
    EXPECT_EQ(AnyBinding().Plan({"eth0", true, vif}).plug, plug) << "of os-vif 1.0";
    vif.path = std::string("/var/cni/vhostuser");
    EXPECT_EQ(RefusedPath(vif), mode == vif::VHostUserMode::kClient ? "" : "$.path");
  }
}

TEST(BindingTest, VhostUserSocketsElsewhereAreRefused) {
  for (const char* path :
       {"", "/", "vhu450e5c61-dc", "/var/cni/vhostuser/", "/var/cni/vhostuser/vhuother",
        "/var/cni/vhostuser/../vhostuser/vhu450e5c61-dc", "/var/run/openvswitch/db.sock",
        "/var/cni/vhostuser/./vhu450e5c61-dc", "/var/cni/vhostuser/vhu450e5c61-dc/"}) {
    vif::VifVHostUser vif = test::VhostUserVif(1, vif::VHostUserMode::kServer);
    vif.path = std::string(path);
    EXPECT_EQ(RefusedPath(vif), "$.path") << path;
    vif.mode = vif::VHostUserMode::kClient;
    EXPECT_EQ(RefusedPath(vif), "$.path") << path;
  }
  for (const char* name : {"db.sock", "../vhu", "vhu/x", "tap0", "", ".vhu"}) {
    vif::VifVHostUser vif = test::VhostUserVif(1, vif::VHostUserMode::kClient);
    vif.vif_name = std::string(name);
    vif.path = "/var/cni/vhostuser/" + std::string(name);
    EXPECT_EQ(RefusedPath(vif), "$.vif_name") << name;
  }
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
  bridge = test::BridgeVif(1);
  bridge.network->should_provide_bridge = true;
  bridge.network->should_provide_vlan = true;
  EXPECT_EQ(RefusedPath(bridge), "$.network.vlan");
  bridge.network->vlan = uint16_t{101};
  EXPECT_EQ(RefusedPath(bridge), "$.network.bridge_interface");
  vif::VifBridge hybrid = test::HybridVif(1);
  hybrid.network->bridge.reset();
  EXPECT_EQ(RefusedPath(hybrid), "$.network.bridge");
  hybrid = test::HybridVif(1);
  hybrid.bridge_name = std::string("br-int");
  EXPECT_EQ(RefusedPath(hybrid), "$.bridge_name");
  vif::VifVHostUser vhost = test::VhostUserVif(1, vif::VHostUserMode::kClient);
  vhost.mode.reset();
  EXPECT_EQ(RefusedPath(vhost), "$.mode");
  vhost = test::VhostUserVif(1, vif::VHostUserMode::kClient);
  vhost.path.reset();
  EXPECT_EQ(RefusedPath(vhost), "$.path");
  vhost.network->bridge.reset();
  EXPECT_EQ(RefusedPath(vhost), "$.network.bridge");
  vif::VifDpdkNested dpdk = test::DpdkVif(1);
  dpdk.address = vif::Null();
  EXPECT_EQ(RefusedPath(dpdk), "$.address");
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
  bridge.plugin = std::string("noop");
  EXPECT_THAT(Unsupported(bridge), HasSubstr("VIFBridge with plugin \"noop\""));
  bridge = test::BridgeVif(1);
  bridge.network->should_provide_vlan = true;
  EXPECT_EQ(Unsupported(bridge), "") << "counts only where the bridge is to be provided";
  vif::VifVHostUser vhost = test::VhostUserVif(1, vif::VHostUserMode::kClient);
  vhost.plugin = std::string("noop");
  EXPECT_THAT(Unsupported(vhost), HasSubstr("VIFVHostUser with plugin \"noop\""));
  vhost.plugin = std::string("ovs");
  vhost.port_profile = vif::PortProfile(vif::PortProfileOvsRepresentor());
  EXPECT_THAT(Unsupported(vhost), HasSubstr("VIFPortProfileOVSRepresentor"));
  vif::VifDpdkNested dpdk = test::DpdkVif(1);
  dpdk.plugin = std::string("ovs");
  EXPECT_THAT(Unsupported(dpdk), HasSubstr("VIFDPDKNested with plugin \"ovs\""));
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

TEST(BindingTest, PluginNoopIsAlsoNoPlugin) {
  vif::VifMacvlanNested macvlan = test::MacvlanVif(1);
  for (const char* plugin : {"noop", ""}) {
    macvlan.plugin = std::string(plugin);
    EXPECT_EQ(Unsupported(macvlan), "") << plugin;
  }
}

TEST(BindingTest, PortsOfOpenVSwitchAreThoseOfDriversThatMakeSome) {
  for (const char* driver : {"ovs", "hybrid", "vhostuser", "sriov"}) {
    EXPECT_TRUE(HasOvsPort({.driver = driver, .bridge = "br-int"})) << driver;
    EXPECT_FALSE(HasOvsPort({.driver = driver})) << driver;
  }
  for (const char* driver : {"bridge", "nested", "dpdk", "no-such"})
    EXPECT_FALSE(HasOvsPort({.driver = driver, .bridge = "br-int"})) << driver;
}

TEST(BindingTest, DriversAreFoundByTheNamesThatTheyGiveTheirPlugs) {
  for (const DriverRow& row : kDrivers) EXPECT_EQ(FindDriverRow(row.name), &row);
  EXPECT_EQ(FindDriverRow("no-such"), nullptr);
}

std::string RefusalBy(const BindingConfig& config, const vif::Vif& vif) {
  try {
    (void)Binding(config).Plan({"eth0", true, vif});
  } catch (const UnsupportedVif& e) {
    return e.what();
  }
  return "";
}

TEST(BindingTest, DriversAndBridgesMayBeLimited) {
  const BindingConfig config{.drivers = {"ovs", "nested"}, .bridges = {"br-int"}};

  EXPECT_EQ(RefusalBy(config, test::OvsVif(1)), "");
  EXPECT_EQ(RefusalBy(config, test::MacvlanVif(1)), "") << "has no bridge";
  EXPECT_EQ(RefusalBy(config, test::HybridVif(1)),
            "driver \"hybrid\" is not among [binding] drivers of this node: it is allowed once it "
            "stands there");
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.bridge_name = std::string("br-ex");
  EXPECT_EQ(RefusalBy(config, vif),
            "bridge \"br-ex\" is not among [binding] bridges of this node: it is allowed once it "
            "stands there");
}

TEST(BindingTest, ByDefaultAPodGetsAPortOfTheNodesBridgeAndNothingElse) {
  const BindingConfig config{.ovs_bridge = "br-int"};

  EXPECT_EQ(RefusalBy(config, test::OvsVif(1)), "");
  EXPECT_EQ(RefusalBy(config, test::HybridVif(1)), "");
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.bridge_name = std::string("br-ex");
  EXPECT_EQ(RefusalBy(config, vif),
            "bridge \"br-ex\" is not among [binding] bridges of this node: that is not set, and "
            "\"bridges = br-int, br-ex\" allows it");
  EXPECT_EQ(RefusalBy(config, test::BridgeVif(1)),
            "driver \"bridge\" is not among [binding] drivers of this node: that is not set, and "
            "\"drivers = ovs, hybrid, bridge\" allows it");
  for (const vif::Vif& other :
       {vif::Vif(test::MacvlanVif(1)), vif::Vif(test::VlanVif(1, 101)), vif::Vif(test::DpdkVif(1)),
        vif::Vif(test::VhostUserVif(1, vif::VHostUserMode::kClient))})
    EXPECT_THAT(RefusalBy(config, other), HasSubstr("is not among [binding] drivers"));
}

TEST(BindingTest, DisconnectOfAnUnknownDriverIsRefused) {
  Binding binding{BindingConfig()};

  EXPECT_THROW(binding.Disconnect({{.driver = "token-ring"}}, {}, {}), UnsupportedVif);
}

TEST(BindingTest, FindPlugsNeedsNoOpenVSwitch) {
  Binding binding{BindingConfig{.ovsdb_connection = "unix:/nowhere/db.sock"}};

  EXPECT_THAT(binding.FindPlugs({.network = "kuryr", .container_id = "c", .ifname = "eth0"},
                                Deadline::After(std::chrono::seconds(60))),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace kuryr::binding
