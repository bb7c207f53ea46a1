#include "controller/backends/pools/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/controller/backends/pools/backend_fixture.h"
#include "tests/support/paths.h"

namespace kuryr::controller::pools {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

/// The addresses of the pool's first network.
std::vector<std::string> AddressesOf(const Pool& pool) {
  std::vector<std::string> all;
  const Intervals& addresses = pool.subnets.at(0).addresses;
  for (Number i = 0; i < addresses.size(); ++i)
    all.push_back(AddressOf(addresses.At(i)).ToString());
  return all;
}

std::string ManyRoutes(int count) {
  std::string routes;
  for (int i = 0; i < count; ++i)
    routes += (i == 0 ? "" : "\n  ") + ("10.2." + std::to_string(i) + ".0/24");
  return routes;
}

Pool OnePool(const std::string& options) { return ReadPoolsOf("[pool:blue]\n" + options).at(0); }

TEST(PoolTest, WithoutSectionsThereAreNone) {
  EXPECT_THAT(ReadPoolsOf("[kubernetes]\nvif_sink = vif\n"), IsEmpty());
}

TEST(PoolTest, DefaultsAreBrIntAndTheFirstAddressAsGateway) {
  const Pool pool = OnePool("cidr = 10.1.0.0/29\n");

  EXPECT_EQ(pool.name, "blue");
  EXPECT_EQ(pool.kind, VifKind::kOvs);
  EXPECT_EQ(pool.bridge, "br-int");
  EXPECT_EQ(pool.subnets.at(0).gateway, Ip("10.1.0.1"));
  EXPECT_THAT(AddressesOf(pool),
              ElementsAre("10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5", "10.1.0.6"));
  EXPECT_EQ(pool.rest, std::chrono::seconds(30));
  EXPECT_EQ(pool.mtu, std::nullopt);
  EXPECT_FALSE(pool.is_default || pool.all_namespaces || pool.from_node);
}

TEST(PoolTest, EveryOptionIsRead) {
  const Pool pool = OnePool(
      "cidr = 10.1.0.0/24, fd00:1::/64\nranges = 10.1.0.16-10.1.0.19, fd00:1::100/120\n"
      "excluded = 10.1.0.17\ngateway = 10.1.0.254, fd00:1::1\ndns = 10.1.0.2, fd00:1::2\n"
      "routes = 10.9.0.0/16 via 10.1.0.3, fd00:9::/64\nmtu = 1400\nvif = bridge\nbridge = br-blue\n"
      "vlan = 7\nbridge_interface = bond0\nnamespaces = a, *, b\npods = app=db, tier=1\n"
      "default = yes\nrest = 0\n");

  EXPECT_EQ(pool.kind, VifKind::kBridge);
  EXPECT_EQ(pool.bridge, "br-blue");
  EXPECT_EQ(pool.bridge_interface, "bond0");
  EXPECT_EQ(pool.vlan, 7);
  EXPECT_EQ(pool.mtu, 1400U);
  EXPECT_THAT(AddressesOf(pool), ElementsAre("10.1.0.16", "10.1.0.18", "10.1.0.19"));
  EXPECT_EQ(pool.subnets.at(0).gateway, Ip("10.1.0.254"));
  EXPECT_EQ(pool.subnets.at(1).gateway, Ip("fd00:1::1"));
  EXPECT_TRUE(pool.subnets.at(1).addresses.size() == 256);
  EXPECT_THAT(pool.dns, ElementsAre(Ip("10.1.0.2"), Ip("fd00:1::2")));
  EXPECT_THAT(pool.routes, ElementsAre(PoolRoute{Net("10.9.0.0/16"), Ip("10.1.0.3")},
                                       PoolRoute{Net("fd00:9::/64"), std::nullopt}));
  EXPECT_THAT(pool.namespaces, ElementsAre("a", "b"));
  EXPECT_TRUE(pool.all_namespaces);
  EXPECT_THAT(pool.pods, ElementsAre(Pair("app", "db"), Pair("tier", "1")));
  EXPECT_TRUE(pool.is_default);
  EXPECT_EQ(pool.rest, std::chrono::seconds(0));
}

TEST(PoolTest, AListGoesOnInIndentedLines) {
  const Pool pool = OnePool("cidr = 10.1.0.0/24\nranges = 10.1.0.16\n  10.1.0.18,\n  10.1.0.20\n");

  EXPECT_THAT(AddressesOf(pool), ElementsAre("10.1.0.16", "10.1.0.18", "10.1.0.20"));
}

TEST(PoolTest, NetworkBroadcastGatewayAndAnycastAreNotGivenAway) {
  EXPECT_THAT(AddressesOf(OnePool("cidr = 10.1.0.0/30\nranges = 10.1.0.0-10.1.0.3\n")),
              ElementsAre("10.1.0.2"));
  EXPECT_THAT(AddressesOf(OnePool("cidr = fd00::/126\n")), ElementsAre("fd00::2", "fd00::3"));
}

TEST(PoolTest, OfTwoIpv4AddressesNoneIsReservedAndOneAloneHasNoGateway) {
  EXPECT_THAT(AddressesOf(OnePool("cidr = 10.1.0.0/31\n")), ElementsAre("10.1.0.0"));
  EXPECT_THAT(AddressesOf(OnePool("cidr = 10.1.0.0/31\ngateway = none\n")),
              ElementsAre("10.1.0.0", "10.1.0.1"));
  const Pool single = OnePool("cidr = 10.1.0.7/32\n");
  EXPECT_THAT(AddressesOf(single), ElementsAre("10.1.0.7"));
  EXPECT_EQ(single.subnets.at(0).gateway, std::nullopt);
}

TEST(PoolTest, OfTwoIpv6AddressesNoneIsReservedAndOneAloneHasNoGateway) {
  EXPECT_THAT(AddressesOf(OnePool("cidr = fd00::/127\n")), ElementsAre("fd00::"));
  EXPECT_THAT(AddressesOf(OnePool("cidr = fd00::/127\ngateway = fe80::1\n")),
              ElementsAre("fd00::", "fd00::1"));
  const Pool single = OnePool("cidr = fd00::7/128\n");
  EXPECT_THAT(AddressesOf(single), ElementsAre("fd00::7"));
  EXPECT_EQ(single.subnets.at(0).gateway, std::nullopt);
}

TEST(PoolTest, ALinkLocalGatewayStandsOutsideOfTheNetwork) {
  const Pool pool = OnePool("cidr = 10.1.0.0/30, fd00::7/128\ngateway = 169.254.1.1, fe80::1\n");

  EXPECT_EQ(pool.subnets.at(0).gateway, Ip("169.254.1.1"));
  EXPECT_EQ(pool.subnets.at(1).gateway, Ip("fe80::1"));
  EXPECT_THAT(AddressesOf(OnePool("cidr = 10.1.0.0/30\ngateway = 169.254.1.1\n")),
              ElementsAre("10.1.0.1", "10.1.0.2"));
}

TEST(PoolTest, WithoutGatewayItsAddressIsFree) {
  const Pool pool = OnePool("cidr = 10.1.0.0/30\ngateway = none\n");

  EXPECT_EQ(pool.subnets.at(0).gateway, std::nullopt);
  EXPECT_THAT(AddressesOf(pool), ElementsAre("10.1.0.1", "10.1.0.2"));
}

TEST(PoolTest, AGatewayOfOneFamilyLeavesTheOthersDefault) {
  const Pool pool = OnePool("cidr = 10.1.0.0/24, fd00::/64\ngateway = 10.1.0.9\n");

  EXPECT_EQ(pool.subnets.at(0).gateway, Ip("10.1.0.9"));
  EXPECT_EQ(pool.subnets.at(1).gateway, Ip("fd00::1"));
}

TEST(PoolTest, RangesOfOneFamilyLeaveAllOfTheOther) {
  const Pool pool = OnePool("cidr = 10.1.0.0/24, fd00::/64\nranges = 10.1.0.9\n");

  EXPECT_TRUE(pool.subnets.at(0).addresses.size() == 1);
  EXPECT_TRUE(pool.subnets.at(1).addresses.size() == (Number{1} << 64) - 2);
}

TEST(PoolTest, WideNetworksHaveAllTheirAddresses) {
  EXPECT_TRUE(OnePool("cidr = 10.0.0.0/8\n").subnets.at(0).addresses.size() == (1U << 24) - 3);
  EXPECT_TRUE(OnePool("cidr = fd00::/64\n").subnets.at(0).addresses.size() ==
              (Number{1} << 64) - 2);
}

TEST(PoolTest, PoolsOfDifferentBridgesMayOverlap) {
  EXPECT_EQ(
      ReadPoolsOf("[pool:a]\ncidr = 10.1.0.0/24\n[pool:b]\nbridge = br-b\ncidr = 10.1.0.0/24\n")
          .size(),
      2U);
}

TEST(PoolTest, TheShippedExampleHasEveryOptionAndIsTaken) {
  const std::string shipped = test::TestData() + "/../../etc/kuryr.conf";
  std::ifstream file(shipped);
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("[")) inside = false;
    if (line.starts_with("#[pool:")) inside = true;
    const bool option = inside && line.size() > 1 && line[0] == '#' && line[1] != ' ';
    if (option) text += line.substr(1) + "\n";
  }

  const std::vector<Pool> pools = ReadPoolsOf("[node_network]\nenabled = true\n" + text);

  EXPECT_EQ(pools.size(), 4U);
  for (const char* option : {"bridge", "bridge_interface", "cidr", "default", "dns", "excluded",
                             "from_node", "gateway", "mtu", "node_prefix", "pods", "port_security",
                             "ranges", "routes", "rest", "namespaces", "vif", "vlan", "vlan_ids"})
    EXPECT_THAT(text, HasSubstr("\n" + std::string(option) + " = "));
}

struct Refusal {
  const char* name;
  std::string text;
  const char* where;
  const char* why;
};

/// The refusal of a pool of 10.1.0.0/24 with `options`.
Refusal With(const char* name, const std::string& options, const char* where, const char* why) {
  return {name, "[pool:a]\ncidr = 10.1.0.0/24\n" + options, where, why};
}

class PoolRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(PoolRefusalTest, NamesFileSectionOptionAndFix) {
  try {
    (void)ReadPoolsOf(GetParam().text);
    FAIL() << "is taken";
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("/kuryr-pools-"), HasSubstr(GetParam().where),
                                HasSubstr(GetParam().why)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, PoolRefusalTest,
    testing::Values(
        With("Unknown", "subnet = x\n", "[pool:a] subnet",
             "is no option of a pool; those are bridge, "),
        Refusal{"Name", "[pool:a_b]\ncidr = 10.1.0.0/24\n", "[pool:a_b]", "is no DNS label"},
        Refusal{"NoCidr", "[pool:a]\nmtu = 1400\n", "[pool:a] cidr", "is missing"},
        Refusal{"CidrText", "[pool:a]\ncidr = 10.1.0.0\n", "[pool:a] cidr", "ADDRESS/LENGTH"},
        Refusal{"HostBits", "[pool:a]\ncidr = 10.1.0.1/24\n", "cidr", "the network is 10.1.0.0/24"},
        Refusal{"TwoOfAFamily", "[pool:a]\ncidr = 10.1.0.0/24, 10.2.0.0/24\n", "cidr",
                "of one family"},
        Refusal{"Wide", "[pool:a]\ncidr = 10.0.0.0/7\n", "cidr", "too wide"},
        Refusal{"Multicast", "[pool:a]\ncidr = 224.1.0.0/24\n", "cidr", "multicast"},
        Refusal{"Loopback", "[pool:a]\ncidr = 127.0.0.0/8\n", "cidr", "loopback"},
        Refusal{"LinkLocal", "[pool:a]\ncidr = fe80::/64\n", "cidr", "link-local"},
        With("GatewayOutside", "gateway = 10.2.0.1\n", "gateway", "outside of cidr"),
        With("GatewayOfAnotherFamily", "gateway = fe80::1\n", "gateway", "a family that cidr"),
        With("GatewayText", "gateway = x\n", "gateway", "neither an address nor none"),
        With("GatewayBroadcast", "gateway = 10.1.0.255\n", "gateway", "the network's own address"),
        With("TwoGateways", "gateway = 10.1.0.1, 10.1.0.2\n", "gateway", "two for 10.1.0.0/24"),
        With("RangeOutside", "ranges = 10.1.0.250-10.1.1.5\n", "ranges", "outside of cidr"),
        With("RangeEmpty", "ranges = 10.1.0.9-10.1.0.8\n", "ranges", "is empty"),
        With("RangeText", "ranges = 10.1.0.9-x\n", "ranges", "FIRST-LAST"),
        With("RangeHostBits", "ranges = 10.1.0.9/28\n", "ranges", "10.1.0.0/28"),
        With("ExcludedText", "excluded = x\n", "excluded", "is none of ADDRESS"),
        With("AllExcluded", "excluded = 10.1.0.0/24\n", "excluded",
             "no address of 10.1.0.0/24 is left"),
        With("OnlyTheGateway", "ranges = 10.1.0.1\n", "ranges", "is left"),
        Refusal{"NoneOfTheOtherFamily",
                "[pool:a]\ncidr = 10.1.0.0/24, fd00::/64\nexcluded = fd00::/64\n", "excluded",
                "no address of fd00::/64"},
        With("DnsText", "dns = x\n", "dns", "is no address"),
        With("DnsFamily", "dns = fd00::1\n", "dns", "family"),
        With("RouteText", "routes = x via y\n", "routes", "NETWORK via GATEWAY"),
        With("RouteGateway", "routes = 10.2.0.0/24 via fd00::1\n", "routes",
             "a gateway of the family"),
        With("RouteHostBits", "routes = 10.2.0.1/24\n", "routes", "the network is 10.2.0.0/24"),
        With("RoutesThatNoNodeTakes", "routes = " + ManyRoutes(251) + "\n", "routes",
             "251 are more"),
        With("RouteFamily", "routes = fd00::/64\n", "routes", "family"),
        With("Mtu", "mtu = 67\n", "mtu", "68 to 65535"),
        Refusal{"MtuOfIpv6", "[pool:a]\ncidr = fd00::/64\nmtu = 1279\n", "mtu", "1280"},
        With("Vif", "vif = tap\n", "vif", "ovs, bridge, macvlan"),
        With("NoBridge", "vif = bridge\n", "[pool:a] bridge:", "is missing"),
        With("BridgeName", "bridge = a-name-too-long-by-far\n", "bridge", "no interface name"),
        With("BridgeOfMacvlan", "vif = macvlan\nbridge = b\n", "bridge", "remove it"),
        With("VlanAlone", "vif = bridge\nbridge = b\nvlan = 3\n", "bridge_interface",
             "given together"),
        With("InterfaceAlone", "vif = bridge\nbridge = b\nbridge_interface = e\n", "[pool:a] vlan",
             "given together"),
        With("VlanOfOvs", "vlan = 3\n", "vlan", "for vif = bridge"),
        With("VlanNumber", "vlan = 4095\n", "vlan", "1 to 4094"),
        With("VlanIdsOfOvs", "vlan_ids = 1-2\n", "vlan_ids", "for vif = vlan"),
        With("VlanIdsText", "vif = vlan\nvlan_ids = 9-8\n", "vlan_ids", "9 to 4094"),
        Refusal{"VlanIdsOverlap",
                "[pool:a]\ncidr = 10.1.0.0/24\nvif = vlan\nvlan_ids = 1-9\n"
                "[pool:b]\ncidr = 10.2.0.0/24\nvif = vlan\nvlan_ids = 9-20\n",
                "[pool:b] vlan_ids", "overlaps that of [pool:a]"},
        With("Namespace", "namespaces = A\n", "namespaces", "nor * for all"),
        With("PodsText", "pods = app\n", "pods", "KEY=VALUE"),
        With("PodsTwice", "pods = a=1,a=2\n", "pods", "twice"),
        With("Boolean", "default = maybe\n", "default", "true or"),
        With("Rest", "rest = 100000\n", "rest", "0 to 86400"),
        With("NodeAndCidr", "from_node = true\n", "cidr", "remove one of them"),
        With("BlocksWithoutNodes", "node_prefix = 26\n", "node_prefix",
             "needs [node_network] enabled = true"),
        With("PortSecurityOfNeighbours", "port_security = false\n", "port_security",
             "whose gateway is their node"),
        With("BlocksWiderThanTheNetwork", "node_prefix = 24\n", "node_prefix", "25"),
        With("BlocksOfTwoLengths", "node_prefix = 26, 64\n", "node_prefix", "one for each"),
        Refusal{"NodeAndGateway", "[pool:a]\nfrom_node = true\ngateway = 10.1.0.1\n", "gateway",
                "say none"},
        Refusal{"TwoDefaults",
                "[pool:a]\ncidr = 10.1.0.0/24\ndefault = true\n"
                "[pool:b]\ncidr = 10.2.0.0/24\ndefault = true\n",
                "[pool:b] default", "only one pool"},
        Refusal{"TwoFromNode",
                "[pool:a]\nfrom_node = true\n[pool:b]\nbridge = b\nfrom_node = true\n",
                "[pool:b] from_node", "only one pool"},
        Refusal{"Overlap", "[pool:a]\ncidr = 10.1.0.0/24\n[pool:b]\ncidr = 10.1.0.128/25\n",
                "[pool:b] cidr", "overlaps 10.1.0.0/24 of [pool:a]"},
        Refusal{"OverlapOnTheLink",
                "[pool:a]\nvif = macvlan\ncidr = 10.1.0.0/24\n"
                "[pool:b]\nvif = vlan\ncidr = 10.1.0.0/16\n",
                "[pool:b] cidr", "on the same link"}),
    [](const auto& test) { return test.param.name; });

TEST(PoolTest, ASectionWithoutNameIsRefused) {
  EXPECT_THROW((void)ReadPoolsOf("[pool]\ncidr = 10.1.0.0/24\n"), ConfigError);
}

}  // namespace
}  // namespace kuryr::controller::pools
