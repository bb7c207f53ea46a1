#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "binding/netlink/route_socket.h"
#include "tests/cni/plugin/plugin_fixture.h"
#include "tests/support/neighbour_table.h"

namespace kuryr::test {
namespace {

using binding::Netns;
using binding::RouteSocket;
using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Pods whose VIF is not Open vSwitch's, on a node that has none running: "uplink" leads to the
/// fabric, "br-lan" is a bridge.
class DriversTest : public PluginTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    ovs_->StopVswitchd();
    ovs_->StopServer();
    fabric_.emplace(MakePodNetns());
    RouteSocket().CreateVeth(
        {.name = "uplink", .peer_name = "fabric", .peer_netns_fd = fabric_->fd()});
    RunOnHost({"ip", "link", "set", "uplink", "up"});
    RunIn(*fabric_, {"ip", "link", "set", "fabric", "up"});
    RunIn(*fabric_, {"ip", "address", "add", "10.10.0.254/16", "dev", "fabric"});
    RunOnHost({"ip", "link", "add", "br-lan", "up", "type", "bridge"});
    WriteConfig(DefaultKubernetes(),
                "[binding]\nlink_iface = uplink\ndrivers = nested, bridge\nbridges = br-lan\n");
  }
  [[nodiscard]] json VifOf(const TestPod& pod, const std::string& kind,
                           const std::string& plugin) const {
    json vif = Vif(pod, true);
    vif["versioned_object.name"] = kind;
    json& data = vif["versioned_object.data"];
    data["plugin"] = plugin;
    data.erase("port_profile");
    if (kind == "VIFBridge") {
      data["bridge_name"] = "br-lan";
    } else {
      data.erase("bridge_name");
    }
    if (kind == "VIFVlanNested") data["vlan_id"] = 101;
    return vif;
  }
  TestPod AddedPod(const std::string& name, const std::string& kind, const std::string& plugin) {
    TestPod pod = MakePod(name);
    Annotate(pod, VifOf(pod, kind, plugin));
    const ProcessResult result = Run("ADD", pod);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    result_ = json::parse(result.out, nullptr, false);
    return pod;
  }
  TestPod MacvlanPod(const std::string& name) { return AddedPod(name, "VIFMacvlanNested", "noop"); }
  TestPod BridgePod(const std::string& name) { return AddedPod(name, "VIFBridge", "linux_bridge"); }
  void ExpectDeleted(const TestPod& pod, const std::map<std::string, std::string>& options = {}) {
    const ProcessResult result = Run("DEL", pod, options);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_EQ(LinkNames(pod), "lo\n");
    EXPECT_FALSE(RouteSocket().FindLink(pod.tap));
    EXPECT_THAT(Records(), Not(Contains(HasSubstr(pod.container_id))));
  }
  static std::string LinkNames(const TestPod& pod) {
    std::string names;
    for (const json& link : json::parse(RunIn(Netns::Open(pod.netns), {"ip", "-j", "link"})))
      names += link.at("ifname").get<std::string>() + "\n";
    return names;
  }
  static void Ping(const TestPod& pod, const std::string& address) {
    RunIn(Netns::Open(pod.netns), {"ping", "-c1", "-W5", address});
  }

  std::optional<Netns> fabric_;
  json result_;
};

TEST_F(DriversTest, MacvlanPodsReachEachOtherAndTheFabric) {
  const TestPod one = MacvlanPod("one");
  EXPECT_EQ(result_["interfaces"],
            json::array({{{"name", "eth0"}, {"mac", one.mac}, {"sandbox", one.netns}}}));
  EXPECT_EQ(result_["ips"][0]["interface"], 0);
  const TestPod two = MacvlanPod("two");

  Ping(one, two.ip);
  Ping(one, two.ip6);
  Ping(one, "10.10.0.254");

  EXPECT_EQ(json::parse(Run("ADD", one).out)["code"], 100);
  ExpectDeleted(two, {{"CNI_NETNS", ""}});
  Ping(one, "10.10.0.254");
}

TEST_F(DriversTest, WhatTheFabricKnowsOfTheAddressesIsRightAfterTheAdd) {
  RunIn(*fabric_, {"ip", "address", "add", "fd00:10::fe/64", "dev", "fabric", "nodad"});
  const TestPod pod = MakePod("one");
  for (const std::string& address : {pod.ip, pod.ip6}) {
    RunIn(*fabric_, {"ip", "neighbour", "replace", address, "lladdr", "fa:16:3e:80:d4:99", "dev",
                     "fabric", "nud", "reachable"});
  }
  NeighbourTable table(*fabric_);
  Annotate(pod, VifOf(pod, "VIFMacvlanNested", "noop"));

  ASSERT_EQ(Run("ADD", pod).status, 0);

  for (const std::string& address : {pod.ip, pod.ip6})
    table.WaitFor(address, *MacAddress::Parse(pod.mac));
}

TEST_F(DriversTest, AnAddThatCannotAnnounceTheAddressesIsDoneAndSaysSo) {
  const TestPod pod = MakePod("one");
  Annotate(pod, VifOf(pod, "VIFMacvlanNested", "noop"));
  // The namespace's settings are read-only, and IPv6 is on already.
  RunOnHost({"mount", "--bind", "-o", "ro", "/proc/sys", "/proc/sys"});

  const ProcessResult result = Run("ADD", pod);

  RunOnHost({"umount", "/proc/sys"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("the pod's addresses are not announced"));
  EXPECT_THAT(result.err, HasSubstr("arp_notify"));
}

TEST_F(DriversTest, VlanPodReachesTheFabricInItsVlan) {
  if (!CanMakeVlans("uplink")) GTEST_SKIP() << kNoVlans;
  RunIn(*fabric_, {"ip", "address", "flush", "dev", "fabric"});
  RunIn(*fabric_,
        {"ip", "link", "add", "tagged", "link", "fabric", "up", "type", "vlan", "id", "101"});
  RunIn(*fabric_, {"ip", "address", "add", "10.10.0.254/16", "dev", "tagged"});

  const TestPod pod = AddedPod("one", "VIFVlanNested", "noop");

  EXPECT_EQ(result_["interfaces"],
            json::array({{{"name", "eth0"}, {"mac", pod.mac}, {"sandbox", pod.netns}}}));
  Ping(pod, "10.10.0.254");
  std::filesystem::remove_all(work_ / "state");
  ExpectDeleted(pod);
}

TEST_F(DriversTest, BridgePodsReachEachOther) {
  const TestPod one = BridgePod("one");
  EXPECT_EQ(result_["interfaces"].size(), 2U);
  const TestPod two = BridgePod("two");

  Ping(one, two.ip);
  Ping(one, two.ip6);

  ExpectDeleted(two);
  EXPECT_TRUE(RouteSocket().FindLink(one.tap));
}

TEST_F(DriversTest, DelWithoutARecordFindsItsOwnInTheNamespace) {
  const TestPod macvlan = MacvlanPod("one");
  const TestPod bridge = BridgePod("two");
  std::filesystem::remove_all(work_ / "state");

  ExpectDeleted(macvlan);
  ExpectDeleted(bridge);
}

TEST_F(DriversTest, MtuAboveTheParentsIsAnErrorThatNamesBoth) {
  const TestPod pod = MakePod("nginx");
  json vif = VifOf(pod, "VIFMacvlanNested", "noop");
  vif["versioned_object.data"]["network"]["versioned_object.data"]["mtu"] = 9000;
  Annotate(pod, vif);

  const ProcessResult result = Run("ADD", pod);

  EXPECT_EQ(result.status, 1);
  const json error = json::parse(result.out);
  EXPECT_EQ(error["code"], 5);
  EXPECT_THAT(error["msg"], HasSubstr("9000"));
  EXPECT_THAT(error["msg"], HasSubstr("1500, the MTU of the parent link uplink"));
  EXPECT_THAT(Records(), IsEmpty());
}

TEST_F(DriversTest, CON_02_AnAddKilledAtAnyMomentLeavesNothingAfterDel) {
  for (const auto& [kind, plugin] :
       {std::pair("VIFMacvlanNested", "noop"), std::pair("VIFBridge", "linux_bridge")}) {
    const auto start = std::chrono::steady_clock::now();
    const TestPod pod = AddedPod(std::string("pod-") + plugin[0], kind, plugin);
    const auto whole = std::chrono::steady_clock::now() - start;
    ExpectDeleted(pod);

    const int killed = KillAdds(pod, whole, [&] { ExpectDeleted(pod); });

    EXPECT_GT(killed, 0) << kind;
  }
}

}  // namespace
}  // namespace kuryr::test
