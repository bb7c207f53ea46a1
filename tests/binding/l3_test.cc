#include "binding/l3.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "binding/netlink/route_socket.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using test::RunProgram;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Property;
using ::testing::UnorderedElementsAre;

struct Destination {
  const char* cidr;
  const char* gateway = nullptr;
};

vif::Field<IpAddress> OptionalIp(const char* text) {
  if (text == nullptr) return {};
  return IpAddress::Parse(text).value();
}

vif::Subnet SubnetOf(const char* cidr, const std::vector<const char*>& addresses,
                     const char* gateway = nullptr, const std::vector<Destination>& routes = {}) {
  vif::Subnet subnet;
  subnet.cidr = IpNetwork::Parse(cidr).value();
  subnet.gateway = OptionalIp(gateway);
  auto& ips = subnet.ips.emplace().objects.emplace();
  for (const char* address : addresses) ips.push_back({.address = OptionalIp(address)});
  auto& list = subnet.routes.emplace().objects.emplace();
  for (const Destination& route : routes) {
    list.push_back(
        {.cidr = IpNetwork::Parse(route.cidr).value(), .gateway = OptionalIp(route.gateway)});
  }
  return subnet;
}

vif::VifBase VifWith(std::vector<vif::Subnet> subnets) {
  vif::VifBase vif;
  vif.network.emplace().subnets.emplace().objects = std::move(subnets);
  return vif;
}

void WriteSetting(const Netns& netns, const std::string& name, const std::string& value) {
  const NetnsGuard guard(netns);
  std::ofstream("/proc/sys/net/" + name) << value;
}

std::string Setting(const Netns& netns, const std::string& name) {
  const NetnsGuard guard(netns);
  std::string value;
  std::ifstream("/proc/sys/net/" + name) >> value;
  return value;
}

class L3Test : public test::NetnsTest {
 protected:
  /// A pod whose eth0 is up and leads to the host's bridge br0.
  Netns MakePluggedPod(const std::string& tap, uint32_t mtu = 1450) {
    Netns pod = MakePodNetns();
    RouteSocket host;
    if (!host.FindLink("br0")) RunOnHost({"ip", "link", "add", "br0", "up", "type", "bridge"});
    host.CreateVeth({.name = tap, .peer_name = "eth0", .peer_netns_fd = pod.fd(), .mtu = mtu});
    RunOnHost({"ip", "link", "set", tap, "up", "master", "br0"});
    RouteSocket inside = RouteSocket::OpenIn(pod);
    inside.SetUp(inside.FindLink("eth0").value());
    return pod;
  }
  void SetUp() override {
    NetnsTest::SetUp();
    pod_ = MakePluggedPod("tap0");
  }

  /// "10.0.0.5/24": the global ones of eth0, as iproute2 prints them.
  std::vector<std::string> Addresses() {
    std::vector<std::string> found;
    for (const json& link :
         json::parse(RunIn(*pod_, {"ip", "-j", "address", "show", "eth0", "scope", "global"}))) {
      for (const json& address : link.at("addr_info")) {
        if (address.empty()) continue;  // one that the filter dropped
        found.push_back(address.at("local").get<std::string>() + "/" +
                        std::to_string(address.at("prefixlen").get<int>()));
      }
    }
    return found;
  }
  void Configure(const std::string& ifname, const vif::VifBase& vif, bool is_default) {
    ConfigureL3(*pod_, ifname, PlanL3(vif, is_default));
  }
  /// "10.9.0.0/16 via 10.0.0.1", those that the kernel did not make by itself.
  std::vector<std::string> Routes(const std::string& family) {
    std::vector<std::string> found;
    for (const json& route :
         json::parse(RunIn(*pod_, {"ip", "-j", family, "route", "show", "proto", "static"}))) {
      const std::string gateway = route.value("gateway", "");
      const auto flags = route.at("flags").get<std::vector<std::string>>();
      const bool on_link = std::find(flags.begin(), flags.end(), "onlink") != flags.end();
      found.push_back(route.at("dst").get<std::string>() +
                      (gateway.empty() ? "" : " via " + gateway) + (on_link ? " onlink" : ""));
    }
    return found;
  }

  /// "10.0.0.1", of one route.
  std::vector<std::string> NextHops(const std::string& family, const std::string& destination) {
    const json routes =
        json::parse(RunIn(*pod_, {"ip", "-j", family, "route", "show", destination}));
    std::vector<std::string> found;
    for (const json& hop : routes.at(0).at("nexthops")) {
      const auto flags = hop.at("flags").get<std::vector<std::string>>();
      const bool on_link = std::find(flags.begin(), flags.end(), "onlink") != flags.end();
      found.push_back(hop.at("gateway").get<std::string>() + (on_link ? " onlink" : ""));
    }
    EXPECT_EQ(routes.size(), 1U);
    return found;
  }
  std::optional<std::string> Check(const vif::VifBase& vif) {
    RouteSocket inside = RouteSocket::OpenIn(*pod_);
    return CheckL3(inside, inside.FindLink("eth0").value(), PlanL3(vif, true));
  }

  std::optional<Netns> pod_;
};

TEST_F(L3Test, DualStackWithGateways) {
  const auto vif = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1"),
                            SubnetOf("fd00::/64", {"fd00::5"}, "fd00::1")});

  Configure("eth0", vif, true);

  EXPECT_THAT(Addresses(), ElementsAre("10.0.0.5/24", "fd00::5/64"));
  EXPECT_THAT(Routes("-4"), ElementsAre("default via 10.0.0.1"));
  EXPECT_THAT(Routes("-6"), ElementsAre("default via fd00::1"));
}

TEST_F(L3Test, LoopbackIsUp) {
  Configure("eth0", VifWith({}), true);

  EXPECT_EQ(RunIn(*pod_, {"ping", "-c", "1", "-W", "1", "127.0.0.1"}).empty(), false);
}

TEST_F(L3Test, OnlyTheDefaultVifGetsTheDefaultRoute) {
  const auto vif =
      VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1", {{"10.9.0.0/16", "10.0.0.2"}})});

  Configure("eth0", vif, false);

  EXPECT_THAT(Routes("-4"), ElementsAre("10.9.0.0/16 via 10.0.0.2"));
}

TEST_F(L3Test, OtherVifsRoutesStandBehindTheDefaultVifs) {
  RunOnHost({"ip", "link", "add", "tap1", "up", "type", "veth", "peer", "name", "eth1", "netns",
             "cni-1"});
  RunIn(*pod_, {"ip", "link", "set", "eth1", "up"});
  const auto vif = [](const char* address, const char* address6) {
    return VifWith({SubnetOf("10.0.0.0/24", {address}, nullptr, {{"10.9.0.0/16", "10.0.0.1"}}),
                    SubnetOf("fd00::/64", {address6}, nullptr, {{"fd09::/64", "fd00::1"}})});
  };

  Configure("eth1", vif("10.0.0.6", "fd00::6"), false);
  Configure("eth0", vif("10.0.0.5", "fd00::5"), true);

  for (const auto& [family, destination] :
       {std::pair("-4", "10.9.0.0/16"), std::pair("-6", "fd09::/64")}) {
    const json routes =
        json::parse(RunIn(*pod_, {"ip", "-j", family, "route", "show", destination}));
    ASSERT_EQ(routes.size(), 2U) << destination;
    EXPECT_EQ(routes.at(0).at("dev"), "eth0");
    EXPECT_EQ(routes.at(1).at("dev"), "eth1");
    EXPECT_GT(routes.at(1).at("metric"), 1024);
  }
}

TEST_F(L3Test, RoutesOfEverySubnet) {
  const auto vif =
      VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1",
                        {{"10.9.0.0/16", "10.0.0.2"}, {"169.254.169.254/32", "10.0.0.3"}}),
               SubnetOf("fd00::/64", {"fd00::5"}, nullptr, {{"fd09::/32", "fd00::2"}})});

  Configure("eth0", vif, true);

  EXPECT_THAT(Routes("-4"), UnorderedElementsAre("default via 10.0.0.1", "10.9.0.0/16 via 10.0.0.2",
                                                 "169.254.169.254 via 10.0.0.3"));
  EXPECT_THAT(Routes("-6"), ElementsAre("fd09::/32 via fd00::2"));
}

TEST_F(L3Test, RouteGatewayInAnotherSubnetOfTheNetworkIsReachable) {
  const auto vif =
      VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, nullptr, {{"10.9.0.0/16", "10.1.0.1"}}),
               SubnetOf("10.1.0.0/24", {"10.1.0.5"})});

  Configure("eth0", vif, true);

  EXPECT_THAT(Routes("-4"), ElementsAre("10.9.0.0/16 via 10.1.0.1"));
}

TEST_F(L3Test, NoGatewayMeansNoDefaultRoute) {
  auto null_gateway = SubnetOf("fd00::/64", {"fd00::5"});
  null_gateway.gateway = vif::Null();
  const auto vif = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}), null_gateway,
                            SubnetOf("10.1.0.0/24", {"10.1.0.5"}, "0.0.0.0")});

  Configure("eth0", vif, true);

  EXPECT_THAT(Routes("-4"), IsEmpty());
  EXPECT_THAT(Routes("-6"), IsEmpty());
}

TEST_F(L3Test, RouteWithoutGatewayIsOnLink) {
  const auto vif = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "192.168.7.1",
                                     {{"192.168.7.0/24"}, {"10.8.0.0/16", "0.0.0.0"}})});

  Configure("eth0", vif, true);

  EXPECT_THAT(Routes("-4"),
              UnorderedElementsAre("192.168.7.0/24", "10.8.0.0/16", "default via 192.168.7.1"));
}

TEST_F(L3Test, ExistingDefaultRouteStays) {
  RunIn(*pod_, {"ip", "address", "add", "10.7.0.5/24", "dev", "eth0"});
  RunIn(*pod_, {"ip", "route", "add", "default", "via", "10.7.0.1", "proto", "static"});
  const auto vif =
      VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1", {{"10.9.0.0/16", "10.0.0.2"}})});

  Configure("eth0", vif, true);

  EXPECT_THAT(Routes("-4"),
              UnorderedElementsAre("default via 10.7.0.1", "10.9.0.0/16 via 10.0.0.2"));
}

TEST_F(L3Test, FirstGatewayOfAFamilyWins) {
  const auto vif = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1"),
                            SubnetOf("10.1.0.0/24", {"10.1.0.5"}, "10.1.0.1"),
                            SubnetOf("fd00::/64", {"fd00::5"}, "fd00::1"),
                            SubnetOf("fd01::/64", {"fd01::5"}, "fd01::1")});

  Configure("eth0", vif, true);

  EXPECT_THAT(Addresses(),
              UnorderedElementsAre("10.0.0.5/24", "10.1.0.5/24", "fd00::5/64", "fd01::5/64"));
  EXPECT_THAT(Routes("-4"), ElementsAre("default via 10.0.0.1"));
  EXPECT_THAT(Routes("-6"), ElementsAre("default via fd00::1"));
}

TEST_F(L3Test, EveryFixedIpIsThere) {
  const auto vif = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5", "10.0.0.6"}),
                            SubnetOf("fd00::/64", {"fd00::5", "fd00::6"})});

  Configure("eth0", vif, true);

  EXPECT_THAT(Addresses(),
              UnorderedElementsAre("10.0.0.5/24", "10.0.0.6/24", "fd00::5/64", "fd00::6/64"));
}

TEST_F(L3Test, FixedIpsOfOsVif18StandBesideTheNetwork) {
  auto subnet = SubnetOf("10.0.0.0/24", {});
  subnet.ips.reset();
  auto vif = VifWith({subnet});
  vif.fixed_ips.emplace().objects.emplace().push_back({.address = OptionalIp("10.0.0.5")});

  Configure("eth0", vif, true);

  EXPECT_THAT(Addresses(), ElementsAre("10.0.0.5/24"));
}

TEST_F(L3Test, WholeAddressPrefixWithAGatewayOutside) {
  const auto vif = VifWith({SubnetOf("10.0.0.5/32", {"10.0.0.5"}, "169.254.1.1"),
                            SubnetOf("fd00::5/128", {"fd00::5"}, "fd77::1")});

  Configure("eth0", vif, true);

  EXPECT_THAT(Addresses(), ElementsAre("10.0.0.5/32", "fd00::5/128"));
  EXPECT_THAT(Routes("-4"), ElementsAre("default via 169.254.1.1 onlink"));
  EXPECT_THAT(Routes("-6"), ElementsAre("default via fd77::1 onlink"));
}

TEST_F(L3Test, LinkLocalGatewayNeedsNoPrefix) {
  Configure("eth0", VifWith({SubnetOf("fd00::/64", {"fd00::5"}, "fe80::1")}), true);

  EXPECT_THAT(Routes("-6"), ElementsAre("default via fe80::1"));
}

TEST_F(L3Test, TheFirstOfTwoIpv6AddressesIsThePodsAndTheOtherItsGateway) {
  const auto vif = VifWith({SubnetOf("10.0.0.4/31", {"10.0.0.4"}, "10.0.0.5"),
                            SubnetOf("fd00::/127", {"fd00::"}, "fd00::1")});

  Configure("eth0", vif, true);

  EXPECT_THAT(Addresses(), ElementsAre("10.0.0.4/31", "fd00::/127"));
  EXPECT_THAT(Routes("-6"), ElementsAre("default via fd00::1"));
}

TEST_F(L3Test, GatewaysOfOneDestinationAreNextHopsOfOneRoute) {
  const auto vif = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, nullptr,
                                     {{"10.9.0.0/16", "10.0.0.1"},
                                      {"10.9.0.0/16", "10.77.0.1"},
                                      {"10.9.0.0/16", "10.0.0.1"}}),
                            SubnetOf("fd00::/64", {"fd00::5"}, nullptr,
                                     {{"fd09::/32", "fd00::1"}, {"fd09::/32", "fd00::2"}})});

  for (int i = 0; i < 2; ++i) Configure("eth0", vif, true);

  EXPECT_THAT(NextHops("-4", "10.9.0.0/16"), UnorderedElementsAre("10.0.0.1", "10.77.0.1 onlink"));
  EXPECT_THAT(NextHops("-6", "fd09::/32"), UnorderedElementsAre("fd00::1", "fd00::2"));
  EXPECT_EQ(Check(vif), std::nullopt);
  RunIn(*pod_, {"ip", "route", "replace", "10.9.0.0/16", "via", "10.0.0.1", "dev", "eth0"});
  EXPECT_THAT(Check(vif).value_or(""), HasSubstr("instead of route 10.9.0.0/16 via 10.77.0.1"));
}

TEST_F(L3Test, NextHopsOfAnotherVifStandBehindTheDefaultVifs) {
  const auto vif = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, nullptr,
                                     {{"0.0.0.0/0", "10.0.0.1"}, {"0.0.0.0/0", "10.0.0.2"}})});

  Configure("eth0", vif, false);

  const json routes = json::parse(RunIn(*pod_, {"ip", "-j", "route", "show", "default"}));
  ASSERT_EQ(routes.size(), 1U);
  EXPECT_EQ(routes.at(0).at("nexthops").size(), 2U);
  EXPECT_GT(routes.at(0).at("metric"), 1024);
}

TEST_F(L3Test, RoutesThatCannotBeNextHopsAreAParseErrorThatNamesBoth) {
  const auto routes = [](const std::vector<Destination>& destinations) {
    return VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, nullptr, destinations)});
  };
  EXPECT_THAT(
      [&] { Configure("eth0", routes({{"10.9.0.0/16"}, {"10.9.0.0/16", "10.0.0.1"}}), true); },
      Throws<ParseError>(
          AllOf(Property(&ParseError::path, "$.network.subnets"),
                Property(&ParseError::what,
                         HasSubstr("route 10.9.0.0/16 and route 10.9.0.0/16 via 10.0.0.1")))));
  EXPECT_NO_THROW(Configure("eth0", routes({{"10.8.0.0/16"}, {"10.8.0.0/16"}}), true));

  std::vector<std::string> gateways;
  std::vector<Destination> many;
  for (int i = 1; i <= 65; ++i) gateways.push_back("10.0.0." + std::to_string(100 + i));
  for (const std::string& gateway : gateways) many.push_back({"10.7.0.0/16", gateway.c_str()});
  EXPECT_THAT([&] { Configure("eth0", routes(many), true); },
              Throws<ParseError>(Property(&ParseError::what, HasSubstr("65 gateways"))));
  many.pop_back();
  EXPECT_NO_THROW(Configure("eth0", routes(many), true));
  EXPECT_EQ(NextHops("-4", "10.7.0.0/16").size(), 64U);
}

TEST_F(L3Test, WhatIsAwaitedIsLeftAlone) {
  L3Plan plan = PlanL3(VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"})}), true);
  plan.is_awaited = true;

  ConfigureL3(*pod_, "eth0", plan);

  EXPECT_THAT(Addresses(), IsEmpty());
}

TEST_F(L3Test, ARouteInAnotherTableOfItsLinkIsThere) {
  const auto vif =
      VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1", {{"10.9.0.0/16", "10.0.0.2"}})});
  Configure("eth0", vif, true);
  const auto move = [&](const char* route, const char* gateway, const char* table) {
    RunIn(*pod_, {"ip", "route", "delete", route});
    RunIn(*pod_, {"ip", "route", "add", route, "via", gateway, "dev", "eth0", "table", table});
  };

  move("default", "10.0.0.1", "100");
  move("10.9.0.0/16", "10.0.0.2", "1000");

  EXPECT_EQ(Check(vif), std::nullopt);
  RunIn(*pod_, {"ip", "route", "flush", "table", "1000"});
  EXPECT_EQ(Check(vif), "route 10.9.0.0/16 via 10.0.0.2 through eth0 is missing");
}

TEST_F(L3Test, TwiceIsFine) {
  const auto vif = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}, "10.0.0.1"),
                            SubnetOf("fd00::/64", {"fd00::5"}, "fd00::1", {{"fd09::/32"}})});

  Configure("eth0", vif, true);
  Configure("eth0", vif, true);

  EXPECT_THAT(Addresses(), ElementsAre("10.0.0.5/24", "fd00::5/64"));
  EXPECT_THAT(Routes("-6"), UnorderedElementsAre("fd09::/32", "default via fd00::1"));
}

TEST_F(L3Test, Ipv6IsEnabledWhereASubnetNeedsIt) {
  WriteSetting(*pod_, "ipv6/conf/all/disable_ipv6", "1");

  Configure("eth0", VifWith({SubnetOf("fd00::/64", {"fd00::5"})}), true);

  EXPECT_EQ(Setting(*pod_, "ipv6/conf/all/disable_ipv6"), "0");
  EXPECT_THAT(Addresses(), ElementsAre("fd00::5/64"));
}

TEST_F(L3Test, Ipv6IsEnabledOnAnInterfaceBornWithoutIt) {
  WriteSetting(*pod_, "ipv6/conf/eth0/disable_ipv6", "1");

  Configure("eth0", VifWith({SubnetOf("fd00::/64", {"fd00::5"})}), true);

  EXPECT_THAT(Addresses(), ElementsAre("fd00::5/64"));
}

TEST_F(L3Test, Ipv6StaysDisabledWithoutAnIpv6Subnet) {
  WriteSetting(*pod_, "ipv6/conf/all/disable_ipv6", "1");

  Configure("eth0", VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"})}), true);

  EXPECT_EQ(Setting(*pod_, "ipv6/conf/all/disable_ipv6"), "1");
  EXPECT_EQ(Setting(*pod_, "ipv6/conf/eth0/disable_ipv6"), "1");
}

TEST_F(L3Test, HostIsLeftAlone) {
  const std::string before = RunOnHost({"ip", "-j", "address"});
  WriteSetting(Netns::Current(), "ipv6/conf/all/disable_ipv6", "1");

  Configure("eth0", VifWith({SubnetOf("fd00::/64", {"fd00::5"})}), true);

  EXPECT_EQ(Setting(Netns::Current(), "ipv6/conf/all/disable_ipv6"), "1");
  EXPECT_EQ(json::parse(RunOnHost({"ip", "-j", "-4", "address"})).size(), 1U) << before;
}

TEST_F(L3Test, SubnetWithoutCidrIsAParseErrorBeforeAnyChange) {
  auto subnet = SubnetOf("10.1.0.0/24", {"10.1.0.5"});
  subnet.cidr.reset();
  const auto vif = VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}), subnet});

  EXPECT_THAT([&] { Configure("eth0", vif, true); },
              Throws<ParseError>(Property(&ParseError::path, "$.network.subnets[1].cidr")));
  EXPECT_THAT(Addresses(), IsEmpty());
}

TEST_F(L3Test, FixedIpOfAnotherFamilyIsAParseError) {
  const auto vif = VifWith({SubnetOf("10.0.0.0/24", {"fd00::5"})});

  EXPECT_THAT([&] { Configure("eth0", vif, true); },
              Throws<ParseError>(Property(&ParseError::what, HasSubstr("fd00::5"))));
}

TEST_F(L3Test, InterfaceThatIsNotThereIsNamed) {
  EXPECT_THAT(
      [&] { Configure("eth7", VifWith({}), true); },
      Throws<std::system_error>(AllOf(Property(&std::system_error::code, std::errc::no_such_device),
                                      Property(&std::system_error::what, HasSubstr("eth7")))));
}

TEST_F(L3Test, AnMtuTooSmallForIpv6IsNamedWithTheAddress) {
  pod_ = MakePluggedPod("tap1", 1279);
  const auto vif = VifWith({SubnetOf("fd00::/64", {"fd00::5"})});

  EXPECT_THAT([&] { Configure("eth0", vif, true); },
              Throws<std::system_error>(
                  Property(&std::system_error::what,
                           AllOf(HasSubstr("fd00::5/64 to eth0"), HasSubstr("MTU 1279")))));
  EXPECT_NO_THROW(Configure("eth0", VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"})}), true));
}

TEST_F(L3Test, RouteTheKernelRefusesIsNamed) {
  const auto vif = VifWith({SubnetOf("fd00::/64", {"fd00::5"}, "fd00::5")});

  EXPECT_THAT([&] { Configure("eth0", vif, true); },
              Throws<std::system_error>(Property(
                  &std::system_error::what, HasSubstr("add route ::/0 via fd00::5 through eth0 "
                                                      "(Gateway can not be a local address)"))));
}

TEST_F(L3Test, PodsTalkAtFullMtuAtOnce) {
  const Netns other = MakePluggedPod("tap1");

  Configure("eth0",
            VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}), SubnetOf("fd00::/64", {"fd00::5"})}),
            true);
  ConfigureL3(
      other, "eth0",
      PlanL3(VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.6"}), SubnetOf("fd00::/64", {"fd00::6"})}),
             true));

  // 1450 less the headers of IP (20 and 40) and of the echo request (8).
  for (const auto& [address, most] : {std::pair("10.0.0.6", 1422), std::pair("fd00::6", 1402)}) {
    const NetnsGuard guard(*pod_);
    const auto ping = [&, to = address](int size) {
      return RunProgram(
          {.argv = {"ping", "-c", "1", "-W", "2", "-M", "do", "-s", std::to_string(size), to}});
    };
    const auto fits = ping(most);
    const auto too_long = ping(most + 1);
    EXPECT_EQ(fits.status, 0) << fits.out << fits.err;
    EXPECT_NE(too_long.status, 0);
    EXPECT_THAT(too_long.err, HasSubstr("message too long, mtu"));
  }
}

}  // namespace
}  // namespace kuryr::binding
