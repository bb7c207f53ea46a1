#include <functional>
#include <system_error>

#include "base/error.h"
#include "binding/drivers/drivers.h"
#include "binding/links/link_mark.h"
#include "tests/binding/driver_fixture.h"

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;

/// The node's link is "uplink", behind which VLAN 101 has 10.1.0.254 and fd00::ff.
class BridgeVlanTest : public DriverTest<NewBridgeDriver> {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    fabric_.emplace(MakePodNetns());
    RouteSocket().CreateVeth(
        {.name = "uplink", .peer_name = "fabric", .peer_netns_fd = fabric_->fd()});
    RunOnHost({"ip", "link", "set", "uplink", "up"});
    RunIn(*fabric_, {"ip", "link", "set", "fabric", "up"});
    Configure({.bridges = {"br-lan"}, .link_iface = "uplink"});
    has_vlans_ = CanMakeVlans("uplink");
  }
  static vif::VifBridge BridgeVif(int n) {
    vif::VifBridge vif = test::BridgeVif(n);
    vif.network->should_provide_bridge = true;
    vif.network->should_provide_vlan = true;
    vif.network->vlan = uint16_t{101};
    vif.network->bridge_interface = std::string("uplink");
    return vif;
  }
  static std::string FailureOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }

  std::optional<Netns> fabric_;
  bool has_vlans_ = false;
};

TEST_F(BridgeVlanTest, PodsReachTheirVlanAtFullMtuAndEachOther) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  RunIn(*fabric_,
        {"ip", "link", "add", "tagged", "link", "fabric", "up", "type", "vlan", "id", "101"});
  RunIn(*fabric_, {"ip", "address", "add", "10.1.0.254/24", "dev", "tagged"});
  RunIn(*fabric_, {"ip", "address", "add", "fd00::ff/64", "dev", "tagged", "nodad"});
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);

  Connect(BridgeVif(1), one);
  Connect(BridgeVif(2), two);

  for (const char* address : {"10.1.0.254", "fd00::ff", "10.1.0.2", "fd00::2"})
    PingInFullSize(one, address, 1450);
  Disconnect(BridgeVif(1), one);
  Disconnect(BridgeVif(2), two);
  EXPECT_EQ(RouteSocket().FindLink("vlan101")->master, RouteSocket().FindLink("br-lan")->index);
}

TEST_F(BridgeVlanTest, FailedConnectTakesBridgeAndVlanAwayAgain) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  vif::VifBridge vif = BridgeVif(1);
  (*vif.network->subnets->objects)[1].gateway = *IpAddress::Parse("fd00::1");

  EXPECT_THROW(Connect(vif, pod), std::system_error);

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(BridgeVlanTest, VlanOfAnotherBridgeIsLeftAlone) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  RunOnHost({"ip", "link", "add", "br-other", "up", "type", "bridge"});
  RunOnHost({"ip", "link", "add", "vlan101", "link", "uplink", "type", "vlan", "id", "101"});
  RunOnHost({"ip", "link", "set", "vlan101", "master", "br-other"});
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);

  EXPECT_THAT(FailureOf([&] { Connect(BridgeVif(1), pod); }),
              HasSubstr("vlan101 is a port of another bridge than br-lan"));

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(BridgeVlanTest, VlanOfTheNodesOwnIsLeftAlone) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  RunOnHost({"ip", "link", "add", "vlan101", "link", "uplink", "up", "type", "vlan", "id", "101"});
  RunOnHost({"ip", "address", "add", "203.0.113.1/24", "dev", "vlan101"});
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);

  EXPECT_THAT(FailureOf([&] { Connect(BridgeVif(1), pod); }),
              HasSubstr("\"ip link set vlan101 master br-lan\" allows it"));

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(BridgeVlanTest, VlanWhoseMakerWasKilledIsFinished) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  RouteSocket host;
  host.CreateBridgeDown("br-lan", {}, kSharedBirthGroup);
  const Link uplink = host.FindLink("uplink").value();
  host.CreateVlan({.name = "vlan101", .parent = uplink, .group = kSharedBirthGroup}, 101);

  Connect(BridgeVif(1), MakePod(1));

  EXPECT_EQ(host.FindLink("vlan101")->master, host.FindLink("br-lan")->index);
  EXPECT_TRUE(host.FindLink("vlan101")->up);
}

TEST_F(BridgeVlanTest, BridgeInUseIsNotJoinedWithAVlan) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  RunOnHost({"ip", "link", "add", "br-lan", "up", "type", "bridge"});
  const Pod pod = MakePod(1);
  for (const std::vector<std::string>& use :
       {std::vector<std::string>{"ip", "address", "add", "172.17.0.1/16", "dev", "br-lan"},
        {"ip", "link", "add", "other", "master", "br-lan", "type", "veth", "peer", "name",
         "wire"}}) {
    RunOnHost(use);
    const std::string before = StateWith(pod);
    EXPECT_THAT(FailureOf([&] { Connect(BridgeVif(1), pod); }),
                HasSubstr("bridge br-lan is in use without vlan101"));
    EXPECT_EQ(StateWith(pod), before);
    RunOnHost({"ip", "address", "flush", "dev", "br-lan"});
  }
  RouteSocket().DeleteLink("other");

  Connect(BridgeVif(1), pod);

  EXPECT_TRUE(RouteSocket().FindLink("vlan101"));
}

TEST_F(BridgeVlanTest, OtherLinksOfTheNodeAreRefused) {
  RunOnHost({"ip", "link", "add", "other", "up", "type", "veth", "peer", "name", "wire"});
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  vif::VifBridge vif = BridgeVif(1);
  vif.network->bridge_interface = std::string("other");

  EXPECT_THAT(FailureOf([&] { Connect(vif, pod); }),
              HasSubstr("pods may stand on uplink ([binding] link_iface)"));

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(BridgeVlanTest, WithoutANamedLinkThereIsNoVlan) {
  RunOnHost({"ip", "route", "add", "default", "dev", "uplink"});
  Configure({.bridges = {"br-lan"}});
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);

  EXPECT_THAT(FailureOf([&] { Connect(BridgeVif(1), pod); }),
              HasSubstr("\"link_iface = uplink\" allows it"));

  EXPECT_EQ(StateWith(pod), before);
}

}  // namespace
}  // namespace kuryr::binding
