#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "binding/plan/l3.h"
#include "tests/binding/plan/l3_fixture.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Property;
using ::testing::Throws;
using ::testing::UnorderedElementsAre;

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

TEST_F(L3Test, RouteTheKernelRefusesIsNamed) {
  const auto vif = VifWith({SubnetOf("fd00::/64", {"fd00::5"}, "fd00::5")});

  EXPECT_THAT([&] { Configure("eth0", vif, true); },
              Throws<std::system_error>(Property(
                  &std::system_error::what, HasSubstr("add route ::/0 via fd00::5 through eth0 "
                                                      "(Gateway can not be a local address)"))));
}

}  // namespace
}  // namespace kuryr::binding
