#include "binding/node/node_plan.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "binding/netlink/nft_message.h"
#include "binding/plan/attachment.h"
#include "tests/binding/node/node_vif.h"

namespace kuryr::binding {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

IpNetwork Network(const std::string& text) { return IpNetwork::Parse(text).value(); }
IpAddress Ip(const std::string& text) { return IpAddress::Parse(text).value(); }

NodePlan PlanWith(std::vector<OtherNode> others) {
  return {.port = PlanManagementPort(test::NodeVif(), {}),
          .addresses = {Ip("192.0.2.1")},
          .others = std::move(others),
          .options = {.service_cidrs = {Network("10.96.0.0/12")}}};
}

/// The decision on a network that node2 claims.
RemoteNetwork Claim(const std::string& network) {
  const auto remotes = RemoteNetworksOf(PlanWith({{.name = "node2",
                                                   .addresses = {Ip("192.0.2.2"), Ip("fd09::2")},
                                                   .networks = {Network(network)}}}));
  return remotes.at(0);
}

std::string RefusalOf(const vif::PodVif& vif) {
  try {
    (void)PlanManagementPort(vif, {});
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TEST(NodePlanTest, PortIsAsTheVifSays) {
  const ManagementPort port = PlanManagementPort(test::NodeVif(), {});

  EXPECT_EQ(port.name, "kuryr0");
  EXPECT_EQ(port.bridge, "br-int");
  EXPECT_EQ(port.mac.ToString(), "fa:16:3e:0a:00:01");
  EXPECT_EQ(port.mtu, 1450U);
  EXPECT_EQ(port.interface_id, "5f0d84da-dc7c-4e5c-84da-bc7052e8b501");
  EXPECT_THAT(port.addresses, ElementsAre(Network("10.244.1.1/24"), Network("fd00:1:1::1/64")));
  EXPECT_THAT(port.Networks(), ElementsAre(Network("10.244.1.0/24"), Network("fd00:1:1::/64")));
}

TEST(NodePlanTest, MtuIsAtMostTheNodes) {
  EXPECT_EQ(PlanManagementPort(test::NodeVif(), {.network_device_mtu = 1400}).mtu, 1400U);
}

TEST(NodePlanTest, ImpossiblePortsAreRefused) {
  vif::PodVif other_kind = test::NodeVif();
  other_kind.vif = vif::VifBridge();
  vif::PodVif other_bridge = test::NodeVif();
  std::get<vif::VifOpenVSwitch>(other_bridge.vif).bridge_name = std::string("br-ex");
  vif::PodVif small = test::NodeVif();
  std::get<vif::VifOpenVSwitch>(small.vif).network->mtu = 1200U;

  EXPECT_THAT(RefusalOf(other_kind), HasSubstr("VIFBridge"));
  EXPECT_THAT(RefusalOf(other_bridge), HasSubstr("br-ex"));
  EXPECT_THAT(RefusalOf(small), HasSubstr("too small for IPv6"));
  EXPECT_THAT(RefusalOf(test::NodeVif({})), HasSubstr("have no address"));
  EXPECT_THAT(RefusalOf(test::NodeVif({{"0.0.0.0/0", "10.0.0.1"}})), HasSubstr("wider than /8"));
  EXPECT_THAT(RefusalOf(test::NodeVif({{"fe80::/64", "fe80::1"}})), HasSubstr("overlaps fe80"));
}

TEST(NodePlanTest, RoutesLeadByTheInternalIpOfTheFamily) {
  EXPECT_EQ(Claim("10.244.2.0/24").via, Ip("192.0.2.2"));
  EXPECT_EQ(Claim("fd00:1:2::/64").via, Ip("fd09::2"));
  EXPECT_THAT(Claim("10.244.2.0/24").refused, IsEmpty());
}

TEST(NodePlanTest, GatewayOfTheManagementPortLeadsToOtherNodesPods) {
  vif::PodVif vif =
      test::NodeVif({{"10.244.1.0/24", "10.244.1.2"}, {"fd00:1:1::/64", "fd00:1:1::1"}});
  auto& subnets = *std::get<vif::VifOpenVSwitch>(vif.vif).network->subnets->objects;
  subnets[0].gateway = Ip("10.244.1.1");
  subnets[1].gateway = Ip("fd00:1:1::1");
  NodePlan plan = PlanWith({{.name = "node2",
                             .addresses = {Ip("192.0.2.2"), Ip("fd09::2")},
                             .networks = {Network("10.244.2.0/24"), Network("fd00:1:2::/64")}}});
  plan.port = PlanManagementPort(vif, {});

  const auto remotes = RemoteNetworksOf(plan);

  EXPECT_THAT(plan.port.gateways, ElementsAre(Ip("10.244.1.1"))) << "a port is not its own gateway";
  EXPECT_TRUE(remotes.at(0).is_joined);
  EXPECT_EQ(remotes.at(0).via, Ip("10.244.1.1"));
  EXPECT_FALSE(remotes.at(1).is_joined);
  EXPECT_EQ(remotes.at(1).via, Ip("fd09::2"));
}

TEST(NodePlanTest, NodeWithoutAnInternalIpOfTheFamilyHasNoWay) {
  const auto remotes = RemoteNetworksOf(PlanWith(
      {{.name = "node2", .addresses = {Ip("192.0.2.2")}, .networks = {Network("fd00:1:2::/64")}}}));

  EXPECT_FALSE(remotes.at(0).via.has_value());
}

TEST(NodePlanTest, NetworksThatWouldTakeOthersPacketsAreRefused) {
  EXPECT_THAT(Claim("0.0.0.0/0").refused, HasSubstr("wider"));
  EXPECT_THAT(Claim("8.0.0.0/7").refused, HasSubstr("wider"));
  EXPECT_THAT(Claim("::/0").refused, HasSubstr("wider"));
  EXPECT_THAT(Claim("169.254.169.254/32").refused, HasSubstr("169.254.0.0/16"));
  EXPECT_THAT(Claim("127.0.0.0/16").refused, HasSubstr("127.0.0.0/8"));
  EXPECT_THAT(Claim("224.0.1.0/24").refused, HasSubstr("224.0.0.0/4"));
  EXPECT_THAT(Claim("fe80::/64").refused, HasSubstr("fe80::/10"));
  EXPECT_THAT(Claim("ff02::/16").refused, HasSubstr("ff00::/8"));
  EXPECT_THAT(Claim("10.244.0.0/16").refused, HasSubstr("this node's pods"));
  EXPECT_THAT(Claim("10.244.1.128/25").refused, HasSubstr("this node's pods"));
  EXPECT_THAT(Claim("10.100.0.0/16").refused, HasSubstr("the Services"));
  EXPECT_THAT(Claim("192.0.2.0/24").refused, HasSubstr("InternalIP"));
}

TEST(NodePlanTest, FirstOfTwoNodesHasANetwork) {
  const auto remotes = RemoteNetworksOf(
      PlanWith({{.name = "node2", .addresses = {}, .networks = {Network("10.244.2.0/24")}},
                {.name = "node3", .addresses = {}, .networks = {Network("10.244.2.128/25")}}}));

  EXPECT_THAT(remotes.at(0).refused, IsEmpty());
  EXPECT_THAT(remotes.at(1).refused, HasSubstr("another node's pods"));
}

/// node2 has a network of pods, and node3 says that an address in it is its InternalIP.
RemoteNetwork Contradicted(uint64_t network_since, uint64_t address_since) {
  const IpNetwork network = Network("10.244.2.0/24");
  const IpAddress address = Ip("10.244.2.9");
  return RemoteNetworksOf(PlanWith({{.name = "node2",
                                     .addresses = {Ip("192.0.2.2")},
                                     .networks = {network},
                                     .networks_since = {{network, network_since}}},
                                    {.name = "node3",
                                     .addresses = {address},
                                     .networks = {},
                                     .addresses_since = {{address, address_since}}}}))
      .at(0);
}

TEST(NodePlanTest, AddressThatANodeSaysLaterTakesNoNetworkAway) {
  const RemoteNetwork remote = Contradicted(1, 2);

  EXPECT_THAT(remote.refused, IsEmpty());
  EXPECT_EQ(remote.via, Ip("192.0.2.2"));
  EXPECT_THAT(remote.ignored, HasSubstr("the InternalIP of node3, 10.244.2.9, is ignored"));
}

TEST(NodePlanTest, NetworkThatANodeSaysLaterTakesNoAddressAway) {
  EXPECT_THAT(Contradicted(2, 1).refused, HasSubstr("the InternalIP of node3, 10.244.2.9,"));
  EXPECT_THAT(Contradicted(1, 1).refused, HasSubstr("InternalIP")) << "nobody knows who was first";
}

TEST(NodePlanTest, NetworkThatWasThereFirstStays) {
  const IpNetwork whole = Network("10.244.2.0/24");
  const IpNetwork half = Network("10.244.2.128/25");
  const auto remotes = RemoteNetworksOf(
      PlanWith({{.name = "node2", .networks = {half}, .networks_since = {{half, 7}}},
                {.name = "node3", .networks = {whole}, .networks_since = {{whole, 3}}}}));

  EXPECT_EQ(remotes.at(0).node, "node3");
  EXPECT_THAT(remotes.at(0).refused, IsEmpty());
  EXPECT_THAT(remotes.at(1).refused, HasSubstr("another node's pods"));
}

TEST(NodePlanTest, FlatPoolIsShared) {
  EXPECT_TRUE(Claim("10.244.1.0/24").is_shared);
  EXPECT_THAT(Claim("10.244.1.0/24").refused, IsEmpty());
}

TEST(NftIntervalsTest, NetworksBecomeRangesWithoutOverlaps) {
  const std::vector<IpNetwork> networks = {Network("10.244.2.0/24"), Network("10.244.1.0/24"),
                                           Network("10.244.1.7/32"), Network("192.0.2.1/32"),
                                           Network("224.0.0.0/4"),   Network("fd00::/8"),
                                           Network("240.0.0.0/4")};

  EXPECT_THAT(IntervalsOf(networks, IpFamily::kIpv4),
              ElementsAre(NftInterval{Ip("10.244.1.0"), Ip("10.244.3.0")},
                          NftInterval{Ip("192.0.2.1"), Ip("192.0.2.2")},
                          NftInterval{Ip("224.0.0.0"), std::nullopt}));
  EXPECT_THAT(IntervalsOf(networks, IpFamily::kIpv6),
              ElementsAre(NftInterval{Ip("fd00::"), Ip("fe00::")}));
  EXPECT_THAT(IntervalsOf(std::vector{Network("0.0.0.0/0")}, IpFamily::kIpv4),
              ElementsAre(NftInterval{Ip("0.0.0.0"), std::nullopt}));
}

}  // namespace
}  // namespace kuryr::binding
