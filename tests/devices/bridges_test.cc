#include "devices/bridges.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "devices/allocation.h"
#include "tests/devices/fake_devices.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::devices {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A node with Open vSwitch's bridges br-lan, br-ex and other, and the kernel's br0 and lxcbr0.
class BridgesTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    ovs_.emplace(folder_.path());
    for (const char* name : {"br-lan", "br-ex", "other"}) AddOvsBridge(name);
    for (const char* name : {"br0", "lxcbr0"}) fs::create_directories(Link(name) / "bridge");
    fs::create_directories(Link("eth0"));
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }

  void AddOvsBridge(const std::string& name) {
    ovs_->Vsctl({"add-br", name, "--", "set", "Bridge", name,
                 "datapath_type=" + test::PrivateOvs::datapath_type()});
  }
  [[nodiscard]] fs::path Link(const std::string& name) const {
    return folder_.path() / "sys/class/net" / name;
  }
  [[nodiscard]] Bridges Make(BridgeOffer offer) const {
    offer.ovsdb_connection = ovs_->remote();
    return {std::move(offer), folder_.path() / "sys"};
  }
  static std::vector<std::string> NamesOf(const std::vector<Resource>& resources) {
    std::vector<std::string> names;
    for (const Resource& resource : resources) names.push_back(resource.FullName());
    return names;
  }

  const TempFolder folder_;
  std::optional<test::PrivateOvs> ovs_;
};

TEST_F(BridgesTest, ThoseOfPatternsAreResourcesByTheirKind) {
  Bridges bridges = Make({.ovs = {"br-*"}, .kernel = {"br*", "eth*"}});

  EXPECT_THAT(NamesOf(bridges.Find()),
              ElementsAre("bridge.network.kubevirt.io/br0", "ovs-cni.network.kubevirt.io/br-ex",
                          "ovs-cni.network.kubevirt.io/br-lan"));
}

TEST_F(BridgesTest, PhysnetIsThereWhileItsBridgeIs) {
  Bridges bridges = Make({.physnets = {{"physnet1", "br-ex"}, {"physnet2", "br-no"}}});

  EXPECT_THAT(NamesOf(bridges.Find()), ElementsAre("physnet.openstack.org/physnet1"));
  ovs_->Vsctl({"del-br", "br-ex"});
  EXPECT_THAT(bridges.Find(), IsEmpty());
}

TEST_F(BridgesTest, WhileOpenVSwitchDoesNotAnswerItsBridgesStay) {
  Bridges bridges = Make({.ovs = {"br-lan"}, .kernel = {"br0"}});
  const std::vector<std::string> before = NamesOf(bridges.Find());
  ovs_->StopServer();
  fs::remove_all(Link("br0"));

  EXPECT_EQ(before.size(), 2U);
  EXPECT_THAT(NamesOf(bridges.Find()), ElementsAre("ovs-cni.network.kubevirt.io/br-lan"));
}

TEST_F(BridgesTest, WhatKubernetesCannotNameIsLeftOut) {
  AddOvsBridge("br-odd-");

  EXPECT_THAT(NamesOf(Make({.ovs = {"br-odd*"}}).Find()), IsEmpty());
}

TEST(BridgePlaces, AreAsManyAsAskedForAndGiveTheirContainerNothing) {
  const Bridges bridges({.places = 3}, "/sys");
  const Resource bridge{
      .prefix = "bridge.network.kubevirt.io", .name = "br0", .type = DeviceType::kPlace};

  const std::vector<Device> places = bridges.PlacesAt(bridge);

  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places.at(2).id, "bridge.network.kubevirt.io/br0#2");
  EXPECT_EQ(Allocate(bridge, {places.at(2)}, "/sys").ByteSizeLong(), 0U);
}

TEST(BridgeUevents, AreThoseOfLinksThatMayBeBridgesOfTheOffer) {
  const BridgeOffer offer{
      .ovs = {"br-*"}, .kernel = {"lxcbr0"}, .physnets = {{"physnet1", "uplink"}}};

  for (const char* event : {"add@/devices/virtual/net/br-lan", "remove@/devices/virtual/net/lxcbr0",
                            "add@/devices/virtual/net/uplink"})
    EXPECT_TRUE(IsOfBridge(offer, event)) << event;
  for (const char* event :
       {"add@/devices/virtual/net/veth1", "add@/devices/virtual/net/veth1/queues/br-0",
        "add@/devices/pci0000:00/0000:00:03.0/net/br-lan", "add@/bus/br-lan"})
    EXPECT_FALSE(IsOfBridge(offer, event)) << event;
}

}  // namespace
}  // namespace kuryr::devices
