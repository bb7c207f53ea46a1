#include "binding/node/local_bridge.h"

#include <functional>
#include <system_error>
#include <thread>

#include "tests/binding/node/local_bridge_fixture.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string ErrorOf(const LocalBridge& wanted) {
  try {
    MakeLocalBridge(wanted);
    GiveGateways(wanted);
  } catch (const std::system_error& e) {
    return e.what();
  }
  return "";
}

std::string Sysctl(const std::string& name) {
  std::string value = test::RunProgram({.argv = {"sysctl", "-n", name}}).out;
  if (!value.empty()) value.pop_back();
  return value;
}

TEST_F(LocalBridgeTest, BridgeIsTheGateway) {
  const Link bridge = Make(Cni0());

  EXPECT_EQ(bridge, RouteSocket().FindLink("cni0"));
  EXPECT_EQ(bridge.kind, "bridge");
  EXPECT_TRUE(bridge.up);
  EXPECT_EQ(bridge.mac.ToString(), "0a:58:0a:01:00:fe");
  EXPECT_THAT(AddressesOf("cni0"), ElementsAre("10.1.0.254/24", "fd00::ff/64"));
  const Pod pod = MakeConnectedPod(1);
  Ping(pod, "10.1.0.254");
  Ping(pod, "fd00::ff");
}

TEST_F(LocalBridgeTest, BeforeItsGatewaysAreKnownItIsUpWithAMacOfItsOwn) {
  MakeLocalBridge({.name = "cni0"});
  const Link made = RouteSocket().FindLink("cni0").value();

  EXPECT_TRUE(made.up);
  EXPECT_THAT(made.mac.ToString(), StartsWith("0a:58:"));
  EXPECT_EQ(Sysctl("net.ipv6.conf.cni0.disable_ipv6"), "1");
  GiveGateways(Cni0());
  EXPECT_EQ(RouteSocket().FindLink("cni0")->mac.ToString(), "0a:58:0a:01:00:fe");
}

TEST_F(LocalBridgeTest, ItsMacStaysOnceItHasAGateway) {
  LocalBridge wanted = Cni0();
  const Link made = Make(wanted);
  wanted.gateways = {Net("10.9.0.254/24")};

  EXPECT_EQ(Make(wanted).mac, made.mac);
}

TEST_F(LocalBridgeTest, RepeatedItChangesNothing) {
  if (const auto reason = NatUnavailable()) GTEST_SKIP() << *reason;
  LocalBridge wanted = Cni0();
  wanted.non_masquerade_cidrs = {Net("10.0.0.0/8")};
  wanted.hairpin = HairpinMode::kPromiscuousBridge;
  Make(wanted);
  const auto state = [] {
    return RunOnHost({"ip", "address", "show", "cni0"}) +
           RunOnHost({"nft", "-a", "list", "ruleset"});
  };
  const std::string before = state();

  Make(wanted);

  EXPECT_EQ(state(), before);
}

TEST_F(LocalBridgeTest, ManyAtOnceMakeOne) {
  if (const auto reason = NatUnavailable()) GTEST_SKIP() << *reason;
  LocalBridge wanted = Cni0();
  wanted.mtu = 1400;
  wanted.non_masquerade_cidrs = {Net("10.0.0.0/8"), Net("fd00::/8")};
  const Netns host = Netns::Current();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) EXPECT_EQ(Make(wanted).mtu, 1400U);
    });
  }
  threads.clear();

  EXPECT_THAT(AddressesOf("cni0"), ElementsAre("10.1.0.254/24", "fd00::ff/64"));
  const std::string rules = RunOnHost({"nft", "list", "ruleset"});
  EXPECT_EQ(std::count(rules.begin(), rules.end(), '\n'), 13) << rules;
}

TEST_F(LocalBridgeTest, BridgeThatWasNeverSetUpIsFinished) {
  RouteSocket().CreateBridgeDown("cni0", std::nullopt);
  RunOnHost({"ip", "link", "set", "uplink", "mtu", "1380"});

  const Link bridge = Make(Cni0());

  EXPECT_TRUE(bridge.up);
  EXPECT_EQ(bridge.mtu, 1380U);
}

TEST_F(LocalBridgeTest, BridgeOfTheNodeKeepsWhatItHas) {
  RunOnHost({"ip", "link", "add", "cni0", "address", "02:00:00:00:00:01", "mtu", "1300", "up",
             "type", "bridge"});
  RunOnHost({"ip", "address", "add", "203.0.113.1/24", "dev", "cni0"});

  const Link bridge = Make(Cni0());

  EXPECT_EQ(bridge.mac.ToString(), "02:00:00:00:00:01");
  EXPECT_EQ(bridge.mtu, 1300U);
  EXPECT_THAT(AddressesOf("cni0"), ElementsAre("203.0.113.1/24", "10.1.0.254/24", "fd00::ff/64"));
}

TEST_F(LocalBridgeTest, LinkThatIsNoBridgeIsLeftAlone) {
  LocalBridge wanted = Cni0();
  wanted.name = "uplink";
  // Its carrier, and with it the kernel's own address, may just be coming.
  const auto addresses = [] {
    return RunOnHost({"ip", "-o", "address", "show", "scope", "global"});
  };
  const std::string before = addresses();

  EXPECT_THAT(ErrorOf(wanted), HasSubstr("use uplink as bridge: its kind is \"veth\""));

  EXPECT_EQ(addresses(), before);
  EXPECT_EQ(RunOnHost({"ip", "link", "show", "type", "bridge"}), "");
  EXPECT_EQ(LinkShown("uplink").at("promiscuity"), 0);
  EXPECT_EQ(Sysctl("net.ipv4.ip_forward"), "0");
}

TEST_F(LocalBridgeTest, AddressInTheSameNetworkIsAConflict) {
  for (const auto& [present, wanted] :
       {std::pair("10.1.0.1/24", "10.1.0.254/24"), std::pair("10.1.0.254/16", "10.1.0.254/24"),
        std::pair("fd00::1/56", "fd00::ff/64")}) {
    RunOnHost({"ip", "link", "add", "cni0", "up", "type", "bridge"});
    RunOnHost({"ip", "address", "add", present, "dev", "cni0"});

    EXPECT_THAT(ErrorOf(Cni0()), HasSubstr(std::string("give bridge cni0 the address ") + wanted +
                                           ": it overlaps the bridge's " + present));

    EXPECT_THAT(AddressesOf("cni0"), ElementsAre(present));
    RouteSocket().DeleteLink("cni0");
  }
}

TEST_F(LocalBridgeTest, OfGatewaysThatConflictWithEachOtherTheBridgeGetsNone) {
  LocalBridge wanted = Cni0();
  wanted.gateways.push_back(Net("10.1.0.1/24"));

  EXPECT_THAT(ErrorOf(wanted), HasSubstr("10.1.0.1/24: it overlaps the bridge's 10.1.0.254/24"));

  EXPECT_THAT(AddressesOf("cni0"), IsEmpty());
}

TEST_F(LocalBridgeTest, NameThatIsNoneIsRefused) {
  for (const char* name : {"", "cni%d", "sixteen-letters-", "a/b", ".."}) {
    LocalBridge wanted = Cni0();
    wanted.name = name;
    EXPECT_THAT(ErrorOf(wanted), HasSubstr(std::string(name))) << name;
  }
}

TEST_F(LocalBridgeTest, MacAndMtuStayAsPortsComeAndGo) {
  RunOnHost({"ip", "link", "set", "uplink", "mtu", "1460"});
  const Link bridge = Make(Cni0());

  const Pod pod = MakeConnectedPod(1);
  EXPECT_EQ(RouteSocket().FindLink("cni0")->mtu, 1460U) << "the pod's is 1450";
  Disconnect(test::BridgeVif(1), pod);

  EXPECT_EQ(RouteSocket().FindLink("cni0")->mac, bridge.mac);
  EXPECT_EQ(RouteSocket().FindLink("cni0")->mtu, 1460U);
}

TEST_F(LocalBridgeTest, MacOfAnIpv6OnlyBridge) {
  LocalBridge wanted = Cni0();
  wanted.gateways = {Net("fd00::a01:ff/64")};

  EXPECT_EQ(Make(wanted).mac.ToString(), "0a:58:0a:01:00:ff");
}

TEST_F(LocalBridgeTest, MtuIsTheSmallestOfLinksThatLeadSomewhere) {
  const auto add = [](const std::string& name, const std::string& mtu,
                      std::vector<std::string> more) {
    std::vector<std::string> argv = {"ip", "link", "add", name, "mtu", mtu, "up"};
    argv.insert(argv.end(), more.begin(), more.end());
    RunOnHost(argv);
  };
  RunOnHost({"ip", "link", "set", "uplink", "mtu", "1420"});
  add("br0", "1300", {"type", "bridge"});
  add("vnet0", "1310", {"master", "br0", "type", "veth", "peer", "name", "vm0"});
  add("tap1", "1320", {"type", "veth", "peer", "name", "pod1"});
  RunOnHost({"ip", "link", "set", "tap1", "alias", "kuryr-cni kuryr c0ffee eth0 uid default/p"});
  add("off", "1330", {"type", "veth", "peer", "name", "off1"});
  RunOnHost({"ip", "link", "set", "off", "down"});

  EXPECT_EQ(SmallestMtu(), 1420U);
  EXPECT_EQ(Make(Cni0()).mtu, 1420U);
  RunOnHost({"ip", "link", "set", "uplink", "mtu", "1410"});
  EXPECT_EQ(Make(Cni0()).mtu, 1420U) << "pods have it already";

  RunOnHost({"ip", "link", "set", "uplink", "down"});
  EXPECT_EQ(SmallestMtu(), 1500U) << "no link leads anywhere";
}

TEST_F(LocalBridgeTest, MtuThatIsWantedWins) {
  LocalBridge wanted = Cni0();
  Make(wanted);
  wanted.mtu = 8900;

  EXPECT_EQ(Make(wanted).mtu, 8900U);
}

TEST_F(LocalBridgeTest, MtuTheKernelRefusesIsNamed) {
  LocalBridge wanted = Cni0();
  wanted.mtu = 10;

  EXPECT_THAT(ErrorOf(wanted), HasSubstr("change link cni0 (mtu"));
}

TEST_F(LocalBridgeTest, ForwardingIsEnabledForTheGatewaysFamilies) {
  LocalBridge wanted = Cni0();
  wanted.gateways = {Net("10.1.0.254/24")};
  Make(wanted);
  EXPECT_EQ(Sysctl("net.ipv4.ip_forward"), "1");
  EXPECT_EQ(Sysctl("net.ipv6.conf.all.forwarding"), "0");

  Make(Cni0());
  EXPECT_EQ(Sysctl("net.ipv6.conf.all.forwarding"), "1");
}

TEST_F(LocalBridgeTest, Ipv6IsEnabledOnTheBridge) {
  RunOnHost({"sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1"});

  Make(Cni0());

  EXPECT_THAT(AddressesOf("cni0"), Contains("fd00::ff/64"));
}

TEST_F(LocalBridgeTest, BridgeWithoutAnIpv6GatewayHasNoIpv6) {
  LocalBridge wanted = Cni0();
  wanted.gateways.pop_back();
  Make(wanted);
  EXPECT_EQ(Sysctl("net.ipv6.conf.cni0.disable_ipv6"), "1");

  Make(Cni0());
  EXPECT_THAT(AddressesOf("cni0"), Contains("fd00::ff/64")) << "of another network";
}

TEST_F(LocalBridgeTest, BridgeWhoseMakerWasKilledBeforeItTookIpv6AwayHasNone) {
  RouteSocket().CreateBridgeDown("cni0", std::nullopt);
  LocalBridge wanted = Cni0();
  wanted.gateways.pop_back();

  Make(wanted);

  EXPECT_EQ(Sysctl("net.ipv6.conf.cni0.disable_ipv6"), "1");
}

TEST_F(LocalBridgeTest, BridgeOfTheOperatorThatIsDownKeepsItsIpv6) {
  RunOnHost({"ip", "link", "add", "cni0", "type", "bridge"});
  RunOnHost({"ip", "address", "add", "fd77::1/64", "dev", "cni0", "nodad"});
  LocalBridge wanted = Cni0();
  wanted.gateways.pop_back();

  Make(wanted);

  EXPECT_THAT(AddressesOf("cni0"), Contains("fd77::1/64"));
}

TEST_F(LocalBridgeTest, PromiscuousOnlyWhenWanted) {
  LocalBridge wanted = Cni0();
  Make(wanted);
  EXPECT_THAT(LinkShown("cni0").at("flags"), Not(Contains("PROMISC")));

  wanted.hairpin = HairpinMode::kPromiscuousBridge;
  Make(wanted);

  EXPECT_THAT(LinkShown("cni0").at("flags"), Contains("PROMISC"));
}

TEST_F(LocalBridgeTest, PortIsAHairpinOnlyWhenWanted) {
  for (const HairpinMode mode :
       {HairpinMode::kNone, HairpinMode::kPromiscuousBridge, HairpinMode::kHairpinVeth}) {
    LocalBridge wanted = Cni0();
    wanted.hairpin = mode;
    Make(wanted);
    Configure({.hairpin = mode});
    const Pod pod = MakeConnectedPod(1);

    const nlohmann::json port = LinkShown("tap450e5c61-1").at("linkinfo").at("info_slave_data");

    EXPECT_EQ(port.at("hairpin"), mode == HairpinMode::kHairpinVeth);
    Disconnect(test::BridgeVif(1), pod);
  }
}

/// A service 10.96.0.1 and fd96::1 in front of pod 1, with what kube-proxy does: its own pod's
/// packets come back from the gateway.
class HairpinTest : public LocalBridgeTest {
 protected:
  void SetUp() override {
    LocalBridgeTest::SetUp();
    // Without br_netfilter, services are not made on the bridge, and no packet turns round there.
    if (Sysctl("net.bridge.bridge-nf-call-iptables") != "1" ||
        Sysctl("net.bridge.bridge-nf-call-ip6tables") != "1")
      GTEST_SKIP() << "br_netfilter is not there, or is switched off";
    if (const auto reason = NatUnavailable()) GTEST_SKIP() << *reason;
    RunOnHost({"nft", R"(table inet service {
      chain in {
        type nat hook prerouting priority dstnat
        ip daddr 10.96.0.1 dnat ip to 10.1.0.1
        ip6 daddr fd96::1 dnat ip6 to fd00::1
      }
      chain out {
        type nat hook postrouting priority srcnat - 1
        ip saddr 10.1.0.1 ip daddr 10.1.0.1 masquerade
        ip6 saddr fd00::1 ip6 daddr fd00::1 masquerade
      }
    })"});
  }
};

TEST_F(HairpinTest, PodReachesItselfThroughAHairpinPort) {
  Make(Cni0());
  Configure({.hairpin = HairpinMode::kHairpinVeth});

  const Pod pod = MakeConnectedPod(1);

  Ping(pod, "10.96.0.1");
  Ping(pod, "fd96::1");
}

}  // namespace
}  // namespace kuryr::binding
