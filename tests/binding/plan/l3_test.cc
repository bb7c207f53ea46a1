#include "binding/plan/l3.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "binding/netlink/route_socket.h"
#include "tests/binding/plan/l3_fixture.h"
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
using ::testing::Throws;
using ::testing::UnorderedElementsAre;

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

TEST_F(L3Test, TheFirstOfTwoIpv6AddressesIsThePodsAndTheOtherItsGateway) {
  const auto vif = VifWith({SubnetOf("10.0.0.4/31", {"10.0.0.4"}, "10.0.0.5"),
                            SubnetOf("fd00::/127", {"fd00::"}, "fd00::1")});

  Configure("eth0", vif, true);

  EXPECT_THAT(Addresses(), ElementsAre("10.0.0.4/31", "fd00::/127"));
  EXPECT_THAT(Routes("-6"), ElementsAre("default via fd00::1"));
}

TEST_F(L3Test, WhatIsAwaitedIsLeftAlone) {
  L3Plan plan = PlanL3(VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"})}), true);
  plan.is_awaited = true;

  ConfigureL3(*pod_, "eth0", plan, L3Scope::kPod);

  EXPECT_THAT(Addresses(), IsEmpty());
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

class AdvertisedL3Test : public L3Test {
 protected:
  /// What eth0 accepts of its neighbours: "IPV6_RA AUTOCONF IPV6_REDIRECTS IPV4_REDIRECTS".
  std::string Accepted() {
    return Setting(*pod_, "ipv6/conf/eth0/accept_ra") + " " +
           Setting(*pod_, "ipv6/conf/eth0/autoconf") + " " +
           Setting(*pod_, "ipv6/conf/eth0/accept_redirects") + " " +
           std::to_string(std::stoi(Setting(*pod_, "ipv4/conf/eth0/accept_redirects")) |
                          std::stoi(Setting(*pod_, "ipv4/conf/all/accept_redirects")));
  }
};

TEST_F(AdvertisedL3Test, PlannedAddressesAreNotForNeighboursToChange) {
  Configure("eth0",
            VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}), SubnetOf("fd00::/64", {"fd00::5"})}),
            true);

  EXPECT_EQ(Accepted(), "0 0 0 0");
}

TEST_F(AdvertisedL3Test, ThePlanOfOneFamilyKeepsTheOtherOneOut) {
  Configure("eth0", VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"})}), true);

  EXPECT_EQ(Accepted(), "0 0 0 0");
}

TEST_F(AdvertisedL3Test, ASubnetWithoutAnAddressIsTheRouters) {
  Configure("eth0", VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}), SubnetOf("fd00::/64", {})}),
            true);

  EXPECT_EQ(Accepted(), "1 1 1 0");
}

TEST_F(AdvertisedL3Test, AnInterfaceWithoutAddressesIsLeftAlone) {
  Configure("eth0", VifWith({}), true);

  EXPECT_EQ(Accepted(), "1 1 1 1");
}

TEST_F(L3Test, HostIsLeftAlone) {
  const std::string before = RunOnHost({"ip", "-j", "address"});
  WriteSetting(Netns::Current(), "ipv6/conf/all/disable_ipv6", "1");

  Configure("eth0", VifWith({SubnetOf("fd00::/64", {"fd00::5"})}), true);

  EXPECT_EQ(Setting(Netns::Current(), "ipv6/conf/all/disable_ipv6"), "1");
  EXPECT_EQ(json::parse(RunOnHost({"ip", "-j", "-4", "address"})).size(), 1U) << before;
}

/// The test's own namespace stands for the host's.
TEST_F(L3Test, TheHostsIpv6SettingsStayWhereItsInterfaceGetsAddresses) {
  RunOnHost({"ip", "link", "add", "wire0", "type", "veth", "peer", "name", "wire1"});
  const Netns host = Netns::Current();
  for (const char* name : {"all", "default", "wire0"})
    WriteSetting(host, std::string("ipv6/conf/") + name + "/disable_ipv6", "1");
  for (const char* name : {"wire0", "wire1"}) RunOnHost({"ip", "link", "set", name, "up"});
  RunOnHost({"ip", "link", "set", "lo", "down"});
  const auto plan = PlanL3(VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.7"}),
                                    SubnetOf("fd00::/64", {"fd00::7"}, nullptr, {{"fd09::/32"}})}),
                           false);

  for (int i = 0; i < 2; ++i) ConfigureL3(host, "wire0", plan, L3Scope::kHost);

  for (const char* name : {"all", "default", "lo"})
    EXPECT_EQ(Setting(host, std::string("ipv6/conf/") + name + "/disable_ipv6"), "1") << name;
  RouteSocket socket;
  EXPECT_FALSE(socket.FindLink("lo")->up);
  const Link link = socket.FindLink("wire0").value();
  Differences found;
  CheckL3(socket, link, plan, found);
  EXPECT_EQ(found.size(), 0U) << found.front().text;
  EXPECT_THAT(socket.AddressesOf(link),
              ::testing::Contains(IpNetwork::Parse("fd00::7/64").value()));
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

TEST_F(L3Test, PodsTalkAtFullMtuAtOnce) {
  const Netns other = MakePluggedPod("tap1");

  Configure("eth0",
            VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.5"}), SubnetOf("fd00::/64", {"fd00::5"})}),
            true);
  ConfigureL3(
      other, "eth0",
      PlanL3(VifWith({SubnetOf("10.0.0.0/24", {"10.0.0.6"}), SubnetOf("fd00::/64", {"fd00::6"})}),
             true),
      L3Scope::kPod);

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
    EXPECT_THAT(too_long.err, HasSubstr("essage too long"));
  }
}

}  // namespace
}  // namespace kuryr::binding
