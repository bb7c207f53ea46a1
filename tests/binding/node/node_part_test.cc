#include "binding/node/node_part.h"

#include <gmock/gmock.h>
#include <linux/if_ether.h>

#include <algorithm>
#include <set>
#include <string>

#include "binding/node/node_routes.h"
#include "tests/binding/node/node_part_fixture.h"
#include "tests/support/call_fault.h"
#include "tests/support/frame_capture.h"

namespace kuryr::binding {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(NodePartTest, PortIsMadeAsPlanned) {
  Make();

  EXPECT_THAT(Differ(), IsEmpty());
  const auto get = [&](const std::string& column) {
    return ovs_->Vsctl({"get", "Interface", "kuryr0", column});
  };
  EXPECT_EQ(ovs_->Vsctl({"port-to-br", "kuryr0"}), "br-int");
  EXPECT_EQ(get("type"), "internal");
  EXPECT_EQ(get("mac"), "\"fa:16:3e:0a:00:01\"");
  EXPECT_EQ(get("mtu_request"), "1450");
  EXPECT_EQ(get("external_ids"),
            "{attached-mac=\"fa:16:3e:0a:00:01\", "
            "iface-id=\"5f0d84da-dc7c-4e5c-84da-bc7052e8b501\", iface-status=active, "
            "kuryr-management-port=\"true\"}");
  const Link link = RouteSocket().FindLink("kuryr0").value();
  EXPECT_TRUE(link.up);
  EXPECT_EQ(link.mtu, 1450U);
  EXPECT_EQ(link.mac.ToString(), "fa:16:3e:0a:00:01");
  EXPECT_THAT(RouteSocket().AddressesOf(link), Contains(Net("10.244.1.1/24")));
  EXPECT_THAT(RouteSocket().AddressesOf(link), Contains(Net("fd00:1:1::1/64")));
}

TEST_F(NodePartTest, RulesAreAsNftWritesThem) {
  plan_.options.non_masquerade_cidrs = {Net("203.0.113.0/24")};
  Make();

  const std::string rules = Ruleset();
  EXPECT_THAT(rules, HasSubstr("ip saddr 10.244.1.0/24 ip daddr != { 10.244.1.0-10.244.2.255, "
                               "192.0.2.1, 203.0.113.0/24, 224.0.0.0/4 } masquerade "
                               "fully-random"));
  EXPECT_THAT(rules, HasSubstr("ip6 saddr fd00:1:1::/64 ip6 daddr != { "));
  EXPECT_THAT(rules, HasSubstr("iifname != \"kuryr0\" oifname \"kuryr0\" ip saddr { "
                               "10.244.1.0/24 } drop"));
  EXPECT_THAT(rules, HasSubstr("oifname \"kuryr0\" icmp type redirect drop"));
  EXPECT_THAT(rules, HasSubstr("oifname \"kuryr0\" icmpv6 type nd-redirect drop"));
  EXPECT_THAT(rules, Not(HasSubstr("ct status")));
}

TEST_F(NodePartTest, FlatPoolMasqueradesWhatIsTranslated) {
  plan_.others[0].networks = plan_.port.Networks();
  plan_.options.masquerade = false;
  Make();

  EXPECT_THAT(Ruleset(), HasSubstr("ip daddr { 10.244.1.0/24 } ct status dnat masquerade"));
  EXPECT_THAT(Ruleset(), Not(HasSubstr("saddr")));
  EXPECT_THAT(Ruleset(), Not(HasSubstr("!=")));
  EXPECT_THAT(RoutesOf("-4"), IsEmpty());
}

class ForgedTest : public NodePartTest {
 protected:
  void SetUp() override {
    NodePartTest::SetUp();
    if (IsSkipped()) return;
    // As on a node that does not look at sources.
    for (const char* conf : {"all", "uplink"})
      RunOnHost({"sysctl", "-qw", std::string("net.ipv4.conf.") + conf + ".rp_filter=0"});
    RunIn(*node2_, {"ip", "route", "add", "10.244.1.0/24", "via", "192.0.2.1"});
    RunIn(*node2_, {"ip", "route", "add", "fd00:1:1::/64", "via", "fd09::1"});
    for (const char* address :
         {"10.244.1.9/32", "10.244.2.9/32", "fd00:1:1::9/128", "fd00:1:2::9/128"})
      RunIn(*node2_, {"ip", "address", "add", address, "dev", "lo"});
  }
  /// Whether an echo request from node2's machine, with this source, leaves for a pod. Another one,
  /// which is honest, follows it.
  bool Passes(const std::string& source, const std::string& target) {
    const bool ipv4 = source.find(':') == std::string::npos;
    const std::string honest = ipv4 ? "198.51.100.9" : "fd0a::9";
    test::FrameCapture port("kuryr0");
    {
      const NetnsGuard outside(*node2_);
      for (const std::string& from : {source, honest})
        (void)test::RunProgram({.argv = {"ping", "-c1", "-w1", "-I", from, target}});
    }
    std::set<std::string> sources;
    for (const test::Frame& frame : port.Take()) {
      if (frame.outgoing) sources.insert(SourceOf(frame));
    }
    EXPECT_TRUE(sources.contains(honest)) << source;
    return sources.contains(source);
  }
  static std::string SourceOf(const test::Frame& frame) {
    IpAddress address{.family = frame.protocol == ETH_P_IP ? IpFamily::kIpv4 : IpFamily::kIpv6};
    const long at = frame.protocol == ETH_P_IP ? 12 : 8;
    if (frame.protocol != ETH_P_IP && frame.protocol != ETH_P_IPV6) return "";
    std::copy_n(frame.payload.begin() + at, address.size(), address.bytes.begin());
    return address.ToString();
  }
};

TEST_F(ForgedTest, NobodyOutsideSendsToPodsAsAPodOfThisNode) {
  Make();
  const Netns pod = MakePod(5);

  EXPECT_FALSE(Passes("10.244.1.9", "10.244.1.5"));
  EXPECT_FALSE(Passes("fd00:1:1::9", "fd00:1:1::5"));
  EXPECT_TRUE(Passes("10.244.2.9", "10.244.1.5")) << "other nodes' pods come this way";
  EXPECT_TRUE(Passes("fd00:1:2::9", "fd00:1:1::5"));
}

TEST_F(ForgedTest, BehindAGatewayNobodyOutsideSendsAsAnyPod) {
  BeBehindGateways();
  Make();
  const Netns pod = MakePod(5);

  EXPECT_FALSE(Passes("10.244.1.9", "10.244.1.5"));
  EXPECT_FALSE(Passes("10.244.2.9", "10.244.1.5"));
  EXPECT_FALSE(Passes("fd00:1:2::9", "fd00:1:1::5"));
}

TEST_F(ForgedTest, PodsThatNodesSendOutAsThemselvesMayComeBack) {
  BeBehindGateways();
  plan_.options.non_masquerade_cidrs = {Net("192.0.2.0/24")};
  Make();

  const std::string rules = Ruleset();

  EXPECT_THAT(rules, HasSubstr("ip saddr { 10.244.1.0/24 } drop"));
}

TEST_F(NodePartTest, GatewayOfThePortLeadsToOtherNodesPods) {
  BeBehindGateways();
  Make();

  EXPECT_THAT(Differ(), IsEmpty());
  EXPECT_THAT(RoutesOf("-4"), HasSubstr("10.244.2.0/24 via 10.244.1.254 dev kuryr0"));
  EXPECT_THAT(RoutesOf("-6"), HasSubstr("fd00:1:2::/64 via fd00:1:1::fe dev kuryr0"));
  EXPECT_EQ(FindNodeRoutes(plan_).at(0).state, NodeRoute::State::kRouted);
}

TEST_F(NodePartTest, BehindAGatewayWhatPodsWouldAnswerPastTheNodeIsMasqueraded) {
  BeBehindGateways();
  Make();

  const std::string rules = Ruleset();
  EXPECT_THAT(rules, HasSubstr("ip daddr { 10.244.2.0/24 } ct status dnat masquerade"));
  EXPECT_THAT(rules, HasSubstr("ip6 daddr { fd00:1:2::/64 } ct status dnat masquerade"));
  EXPECT_THAT(rules, HasSubstr("ip saddr 10.244.1.0/24 ip daddr 10.244.1.0/24 ct status dnat"));
  EXPECT_THAT(rules, HasSubstr("ip saddr 10.244.1.0/24 ip daddr != { 10.244.1.0-10.244.2.255, "
                               "192.0.2.1, 224.0.0.0/4 } masquerade"))
      << "another node's address is outside";
}

TEST_F(NodePartTest, GatewayThatTheLinkDoesNotHaveYetGetsNoRoute) {
  BeBehindGateways();
  const auto routes = FindNodeRoutes(plan_);

  EXPECT_EQ(routes.at(0).state, NodeRoute::State::kElsewhere);
  EXPECT_THAT(routes.at(0).text, HasSubstr("10.244.1.254 is not on the link of kuryr0"));
}

TEST_F(NodePartTest, ManyNodesFitIntoOneTransaction) {
  for (int i = 0; i < 2000; ++i) {
    const std::string middle = std::to_string(i / 200) + "." + std::to_string(i % 200);
    plan_.others.push_back({.name = "far" + std::to_string(i),
                            .addresses = {Ip("100." + middle + ".1")},
                            .networks = {Net("11." + middle + ".0/25")}});
  }
  Make();

  EXPECT_THAT(Differ(), IsEmpty());
  EXPECT_THAT(Ruleset(), HasSubstr("11.9.199.0/25"));
}

TEST_F(NodePartTest, SecondPassChangesNothing) {
  Make();
  const std::string rules = RunOnHost({"nft", "-a", "list", "ruleset"});
  const std::string config = ovs_->Vsctl({"get", "Open_vSwitch", ".", "next_cfg"});

  EXPECT_THAT(Differ(), IsEmpty());
  Make();

  EXPECT_EQ(RunOnHost({"nft", "-a", "list", "ruleset"}), rules);
  EXPECT_EQ(ovs_->Vsctl({"get", "Open_vSwitch", ".", "next_cfg"}), config);
}

TEST_F(NodePartTest, WhatSomebodyChangedIsMadeAgain) {
  AddBridge("br-other");
  Make();
  const std::vector<std::vector<std::string>> damages = {
      {"ip", "link", "set", "kuryr0", "down"},
      {"ip", "link", "set", "kuryr0", "address", "fa:16:3e:0a:00:77"},
      {"ip", "address", "del", "10.244.1.1/24", "dev", "kuryr0"},
      {"ip", "address", "del", "fd00:1:1::1/64", "dev", "kuryr0"},
      {"ip", "address", "add", "10.244.1.9/24", "dev", "kuryr0"},
      {"ip", "address", "flush", "dev", "kuryr0"},
      {"ip", "route", "del", "10.244.2.0/24"},
      {"ip", "-6", "route", "del", "fd00:1:2::/64"},
      {"ip", "route", "add", "10.9.9.0/24", "via", "192.0.2.2", "proto", "75"},
      {"nft", "delete", "table", "inet", "kuryr-node"},
      {"nft", "flush", "chain", "inet", "kuryr-node", "drop-redirects"},
      {"nft", "flush", "chain", "inet", "kuryr-node", "drop-forged"},
      {"nft", "insert", "rule", "inet", "kuryr-node", "masquerade-pods", "accept"},
      {"sysctl", "-q", "-w", "net.ipv4.conf.kuryr0.rp_filter=1"},
      {"sysctl", "-q", "-w", "net.ipv4.ip_forward=0"}};
  for (const auto& damage : damages) {
    RunOnHost(damage);
    EXPECT_THAT(Differ(), Not(IsEmpty())) << ::testing::PrintToString(damage);
    Make();
    EXPECT_THAT(Differ(), IsEmpty()) << ::testing::PrintToString(damage);
  }
  const std::vector<std::vector<std::string>> port_damages = {
      {"del-port", "kuryr0"},
      {"remove", "Interface", "kuryr0", "external_ids", "iface-id"},
      {"set", "Interface", "kuryr0", "mtu_request=1300"},
      {"clear", "Interface", "kuryr0", "mac"},
      {"--", "del-port", "kuryr0", "--", "add-port", "br-other", "kuryr0", "--", "set", "Interface",
       "kuryr0", "type=internal", "external_ids:kuryr-management-port=true"}};
  for (const auto& damage : port_damages) {
    ovs_->Vsctl(damage);
    EXPECT_THAT(Differ(), Not(IsEmpty())) << ::testing::PrintToString(damage);
    Make();
    EXPECT_THAT(Differ(), IsEmpty()) << ::testing::PrintToString(damage);
  }
}

TEST_F(NodePartTest, PortComesBackWithABridgeThatIsMadeAnew) {
  Make();
  ovs_->Vsctl({"del-br", "br-int"});

  Make();

  EXPECT_THAT(Differ(), IsEmpty());
}

TEST_F(NodePartTest, RestartOfOpenVSwitchIsMended) {
  Make();
  ovs_->StopVswitchd();
  RunOnHost({"ip", "link", "set", "kuryr0", "down"});
  EXPECT_THROW(Make(), std::system_error) << "nothing can be done without ovs-vswitchd";
  ovs_->StartVswitchd();

  Make();

  EXPECT_THAT(Differ(), IsEmpty());
}

TEST_F(NodePartTest, EarlierNameOfThePortGoes) {
  plan_.port.name = "kuryr7";
  Make();
  plan_.port.name = "kuryr0";

  Make();

  EXPECT_EQ(ovs_->Vsctl({"list-ports", "br-int"}), "kuryr0");
}

TEST_F(NodePartTest, AnothersPortIsRefusedAndLeft) {
  ovs_->Vsctl({"add-port", "br-int", "kuryr0", "--", "set", "Interface", "kuryr0", "type=internal",
               "external_ids:owner=me"});

  EXPECT_THROW(Make(), HostInterfaceInUse);

  EXPECT_EQ(ovs_->Vsctl({"get", "Interface", "kuryr0", "external_ids"}), "{owner=me}");
  EXPECT_FALSE(RouteSocket().FindLink("kuryr0")->up);
}

TEST_F(NodePartTest, AnothersLinkIsRefusedAndLeft) {
  RunOnHost({"ip", "link", "add", "kuryr0", "type", "veth"});

  EXPECT_THROW(Make(), HostInterfaceInUse);

  EXPECT_EQ(ovs_->Vsctl({"list-ports", "br-int"}), "");
  EXPECT_EQ(RouteSocket().FindLink("kuryr0")->kind, "veth");
}

TEST_F(NodePartTest, AnothersRouteIsLeft) {
  RunOnHost({"ip", "route", "add", "10.244.2.0/24", "via", "192.0.2.99", "proto", "bird"});
  Make();

  EXPECT_THAT(Differ(), IsEmpty());
  EXPECT_THAT(RoutesOf("-4"), IsEmpty());
  EXPECT_EQ(FindNodeRoutes(plan_).at(0).state, NodeRoute::State::kTaken);
  RunOnHost({"ip", "route", "del", "10.244.2.0/24"});
  Make();
  EXPECT_THAT(RoutesOf("-4"), HasSubstr("10.244.2.0/24 via 192.0.2.2"));
}

TEST_F(NodePartTest, NodeBehindARouterGetsNoRoute) {
  plan_.others[0].addresses = {Ip("198.51.100.9"), Ip("fd0a::9")};
  Make();

  EXPECT_THAT(RoutesOf("-4") + RoutesOf("-6"), IsEmpty());
  EXPECT_EQ(FindNodeRoutes(plan_).at(0).state, NodeRoute::State::kElsewhere);
  EXPECT_THAT(FindNodeRoutes(plan_).at(0).text, HasSubstr("not on a link"));
}

TEST_F(NodePartTest, RoutesMayBeOff) {
  Make();
  plan_.options.routes = false;

  Make();

  EXPECT_THAT(RoutesOf("-4") + RoutesOf("-6"), IsEmpty());
}

TEST_F(NodePartTest, NodeThatHasMovedGetsANewRoute) {
  Make();
  plan_.others[0].addresses = {Ip("192.0.2.3"), Ip("fd09::3")};
  Make();

  EXPECT_THAT(RoutesOf("-4"), HasSubstr("10.244.2.0/24 via 192.0.2.3"));
  EXPECT_THAT(RoutesOf("-4"), Not(HasSubstr("192.0.2.2")));
}

TEST_F(NodePartTest, RemovalTakesBackOursAlone) {
  ovs_->Vsctl({"add-port", "br-int", "mine", "--", "set", "Interface", "mine", "type=internal"});
  RunOnHost({"ip", "route", "add", "10.8.0.0/16", "via", "192.0.2.2"});
  RunOnHost({"nft", "add", "table", "inet", "mine"});
  const auto state = [&] {
    return RunOnHost({"ip", "route"}) + RunOnHost({"ip", "-6", "route", "show", "table", "main"}) +
           Ruleset() + ovs_->Vsctl({"list-ports", "br-int"});
  };
  const std::string before = state();
  Make();
  ASSERT_NE(state(), before);

  EXPECT_TRUE(RemoveNodeParts(*context_, Soon()));

  EXPECT_EQ(state(), before);
  EXPECT_FALSE(RemoveNodeParts(*context_, Soon()));
}

TEST_F(NodePartTest, RoutesAndRulesGoWithoutOpenVSwitch) {
  Make();
  ovs_->StopServer();

  EXPECT_THROW((void)RemoveNodeParts(*context_, Soon()), std::system_error);

  EXPECT_THAT(RoutesOf("-4") + Ruleset(), IsEmpty());
  ovs_->StartServer();
  ovs_->Vsctl({"set", "Open_vSwitch", ".", "external_ids:back=true"});  // ovs-vswitchd is back
  EXPECT_TRUE(RemoveNodeParts(*context_, Soon()));
}

TEST_F(NodePartTest, NextTryMendsWhateverCallHasFailed) {
  BeAChassis();
  /// The call that failed, in words; null where fewer calls were made.
  const auto make_with_fault = [&](test::CallFault::Kind kind, int number) {
    const test::CallFault fault(kind, number);
    try {
      Make();
    } catch (const std::exception&) {
      EXPECT_FALSE(fault.failed().empty());
    }
    return fault.reached() ? std::optional(fault.failed()) : std::nullopt;
  };
  for (const auto kind : {test::CallFault::Kind::kNotDone, test::CallFault::Kind::kAnswerLost}) {
    int calls = 0;
    while (!HasFailure()) {
      (void)RemoveNodeParts(*context_, Soon());
      const auto failed = make_with_fault(kind, ++calls);
      if (!failed) break;
      Make();
      EXPECT_THAT(Differ(), IsEmpty()) << "after call " << calls << ", " << *failed;
    }
    EXPECT_GT(calls, 20);
  }
}

TEST_F(NodePartTest, RemovalWaitsForOvsVswitchd) {
  Make();
  ovs_->StopVswitchd();

  EXPECT_THROW((void)RemoveNodeParts(*context_, Soon()), std::system_error);

  ovs_->StartVswitchd();
  EXPECT_TRUE(RemoveNodeParts(*context_, Soon()));
  EXPECT_FALSE(RouteSocket().FindLink("kuryr0").has_value());
}

TEST_F(NodePartTest, PortThatGoesWhileOpenVSwitchIsDownComesBack) {
  Make();
  ovs_->StopVswitchd();
  ovs_->Vsctl({"--no-wait", "del-port", "kuryr0"});
  ovs_->StartVswitchd();

  Make();

  EXPECT_THAT(Differ(), IsEmpty());
}

TEST_F(NodePartTest, PodReachesItsNodeAnotherPodAndTheOutside) {
  Make();
  const Netns pod = MakePod(5);
  const Netns other = MakePod(6);
  RunIn(*node2_, {"ip", "route", "add", "10.244.1.0/24", "via", "192.0.2.1"});

  for (const char* address :
       {"10.244.1.1", "fd00:1:1::1", "10.244.1.6", "fd00:1:1::6", "192.0.2.1", "192.0.2.2"})
    Ping(pod, address);
  RunIn(*node2_, {"ip", "route", "del", "10.244.1.0/24"});
  Ping(pod, "198.51.100.9");
  Ping(pod, "fd0a::9");
  Ping(Netns::Current(), "10.244.1.5");
}

}  // namespace
}  // namespace kuryr::binding
