#include "controller/backends/pools/pool_backend.h"
#include "tests/controller/backends/pools/backend_fixture.h"

namespace kuryr::controller::pools {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class PoolBackendNodeTest : public PoolBackendTest {};

// Networks of nodes.

PlanRequest OnNode(const Owner& owner, const std::vector<std::string>& networks) {
  PlanRequest request = RequestOf(owner);
  for (const std::string& network : networks) request.node_networks.push_back(Net(network));
  return request;
}

TEST_F(PoolBackendNodeTest, FromNodeTakesTheAddressesOfThePodsNode) {
  Start("[pool:pods]\nfrom_node = true\ndefault = true\nexcluded = 10.244.2.2\n");

  const Vifs one = Reserve(OnNode(Pod("a"), {"10.244.1.0/30", "fd00:1::/126"}));
  const Vifs two = Reserve(OnNode(Pod("b", "team", "n2"), {"10.244.2.0/29"}));
  const Vifs three = Reserve(OnNode(Pod("c", "team", "n2"), {"10.244.2.0/29"}));

  EXPECT_THAT(AddressesOf(one.at(0)), ElementsAre("10.244.1.2", testing::StartsWith("fd00:1::")));
  EXPECT_THAT(AddressesOf(two.at(0)), ElementsAre(testing::StartsWith("10.244.2.")));
  EXPECT_EQ(*(*vif::Common(two[0].vif).network->subnets)[0].gateway, Ip("10.244.2.1"));
  EXPECT_EQ(UsageOf("pods").limit, 5.0);
  EXPECT_EQ(UsageOf("pods").used, 3U);
}

TEST_F(PoolBackendNodeTest, FromNodeWaitsForANodeWithoutNetworks) {
  Start("[pool:pods]\nfrom_node = true\ndefault = true\n");

  const Failure failure = Fail(RequestOf(Pod("a")));

  EXPECT_EQ(failure.kind, Kind::kRetry);
  EXPECT_THAT(failure.text, HasSubstr("node n1"));
}

TEST_F(PoolBackendNodeTest, FromNodeRefusesANetworkThatOverlapsAnother) {
  Start("[pool:other]\ncidr = 10.2.0.0/24\n[pool:pods]\nfrom_node = true\ndefault = true\n");
  (void)Reserve(OnNode(Pod("a"), {"10.244.1.0/24"}));

  EXPECT_THAT(Fail(OnNode(Pod("b"), {"10.244.0.0/16"})).text,
              HasSubstr("overlaps 10.244.1.0/24 of pool \"pods\""));
  EXPECT_THAT(Fail(OnNode(Pod("b"), {"10.2.0.0/25"})).text,
              HasSubstr("overlaps 10.2.0.0/24 of pool \"other\""));
  EXPECT_EQ(Fail(OnNode(Pod("b"), {"127.0.0.0/8"})).kind, Kind::kRefused);
}

TEST_F(PoolBackendNodeTest, NodeGetsANetworkWithinThatOfANodeThatIsGone) {
  Start("[pool:pods]\nfrom_node = true\ndefault = true\n");
  (void)Reserve(OnNode(Pod("a"), {"10.244.0.0/16"}));
  EXPECT_EQ(Fail(OnNode(Pod("b", "team", "n2"), {"10.244.2.0/24"})).kind, Kind::kRefused);

  backend_->Release("uid-a");

  EXPECT_EQ(Fail(OnNode(Pod("b", "team", "n2"), {"10.244.2.0/24"})).kind, Kind::kRefused);
  Pass(seconds(30));
  EXPECT_THAT(AddressesOf(Reserve(OnNode(Pod("b", "team", "n2"), {"10.244.2.0/24"})).at(0)),
              ElementsAre(testing::StartsWith("10.244.2.")));
  EXPECT_EQ(UsageOf("pods").limit, 253.0);
}

TEST_F(PoolBackendNodeTest, ReplicaThatNeverSawTheGoneNodeGivesWhatTheLeaderGives) {
  const std::string text = "[pool:pods]\nfrom_node = true\ndefault = true\n";
  const PlanRequest within = OnNode(Pod("b", "team", "n2"), {"10.244.2.0/24"});
  const PlanRequest around = OnNode(Pod("c", "team", "n3"), {"10.244.0.0/16"});
  Start(text);
  (void)Reserve(OnNode(Pod("a"), {"10.244.0.0/16"}));
  backend_->Release("uid-a");
  Pass(seconds(30));
  const std::string leaders = Text(Reserve(within));
  const Failure refused = Fail(around);

  Start(text);

  EXPECT_EQ(Text(Reserve(within)), leaders);
  EXPECT_EQ(Fail(around).kind, Kind::kRefused);
  EXPECT_EQ(Fail(around).text, refused.text);
}

// Management ports of nodes.

Owner Node(const std::string& name) { return {.id = "uid-" + name, .name = name, .node = name}; }

constexpr const char* kRouted =
    "[node_network]\nenabled = true\n[pool:pods]\nfrom_node = true\ndefault = true\n";

const vif::Subnet& SubnetOf(const vif::PodVif& vif, size_t index = 0) {
  return (*vif::Common(vif.vif).network->subnets)[index];
}

TEST_F(PoolBackendNodeTest, NodeHasTheGatewaysOfItsOwnNetworks) {
  Start(kRouted);

  const Vifs node = Reserve(OnNode(Node("n1"), {"10.244.1.0/24", "fd00:1::/64"}));

  EXPECT_THAT(AddressesOf(node.at(0)), ElementsAre("10.244.1.1", "fd00:1::1"));
  EXPECT_EQ(SubnetOf(node[0]).cidr->ToString(), "10.244.1.0/24");
  EXPECT_FALSE(SubnetOf(node[0]).gateway.has_value());
  EXPECT_EQ(vif::Common(node[0].vif).address->ToString(), "0a:58:0a:f4:01:01");
  EXPECT_EQ(Reserve(OnNode(Node("n1"), {"10.244.1.0/24", "fd00:1::/64"})), node);
}

TEST_F(PoolBackendNodeTest, PodOfARoutedPoolHasNoNetworkOnItsLink) {
  Start(kRouted);
  (void)Reserve(OnNode(Node("n1"), {"10.244.1.0/30", "fd00:1::/64"}));

  const Vifs pod = Reserve(OnNode(Pod("a"), {"10.244.1.0/30", "fd00:1::/64"}));

  EXPECT_EQ(SubnetOf(pod.at(0)).cidr->ToString(), "10.244.1.2/32");
  EXPECT_EQ(SubnetOf(pod[0]).gateway->ToString(), "10.244.1.1");
  EXPECT_EQ(SubnetOf(pod[0], 1).cidr->prefix_length, 128);
  EXPECT_EQ(SubnetOf(pod[0], 1).gateway->ToString(), "fd00:1::1");
}

TEST_F(PoolBackendNodeTest, NodeGetsItsGatewayAlsoWhereAPodHadItFirst) {
  Start(kRouted);
  const Vifs node = Reserve(OnNode(Node("n1"), {"10.244.1.0/24"}));
  Vifs pod = Reserve(OnNode(Pod("a"), {"10.244.1.0/24"}));
  vif::Common(pod[0].vif).address = MacAddress::Parse("52:54:00:00:00:01").value();
  (*vif::Common(pod[0].vif).network->subnets->objects)[0].ips->objects->at(0).address =
      Ip("10.244.1.1");

  Start(kRouted, 2);
  // The network of the node is not known yet.
  EXPECT_FALSE(backend_->WhyNeverGiven(Pod("a"), pod[0]));
  backend_->Adopt(Pod("a"), pod);
  EXPECT_THAT(FailToAdopt(Node("n1"), node).text, HasSubstr("both"));

  EXPECT_EQ(Reserve(OnNode(Node("n1"), {"10.244.1.0/24"})), node);
  EXPECT_THAT(FailToAdopt(Pod("a"), pod).text, HasSubstr("address 10.244.1.1 of pool \"pods\""));
}

TEST_F(PoolBackendNodeTest, PlanOfANodeIsTheSameAfterARestart) {
  Start(kRouted);
  const Vifs node = Reserve(OnNode(Node("n1"), {"10.244.1.0/24"}));
  const Vifs pod = Reserve(OnNode(Pod("a"), {"10.244.1.0/24"}));

  Start(kRouted, 2);
  backend_->Adopt(Node("n1"), node);
  backend_->Adopt(Pod("a"), pod);

  EXPECT_EQ(Reserve(OnNode(Node("n1"), {"10.244.1.0/24"})), node);
  EXPECT_EQ(Reserve(OnNode(Pod("a"), {"10.244.1.0/24"})), pod);
}

TEST_F(PoolBackendNodeTest, AdoptedAddressOutsideOfItsNodesNetworksIsRefused) {
  Start(kRouted);
  const Vifs pod = Reserve(OnNode(Pod("a"), {"10.244.1.0/24"}));
  Start(kRouted, 2);
  backend_->Adopt(Pod("a"), pod);

  EXPECT_THAT(Fail(OnNode(Pod("a"), {"10.244.9.0/24"})).text,
              HasSubstr("is in no network of node"));
}

constexpr const char* kBlocks =
    "[node_network]\nenabled = true\n[pool:pods]\nfrom_node = true\ndefault = true\n"
    "cidr = 10.244.0.0/22\nnode_prefix = 24\n";

std::string NetworkOf(const std::vector<vif::PodVif>& vifs) {
  return SubnetOf(vifs.at(0)).cidr->ToString();
}

TEST_F(PoolBackendNodeTest, NodeWithoutNetworksGetsABlockThatNoOtherHas) {
  Start(kBlocks);

  const Vifs one = Reserve(OnNode(Node("n1"), {}));
  const Vifs two = Reserve(OnNode(Node("n2"), {}));
  const Vifs three = Reserve(OnNode(Node("n3"), {"10.244.2.0/24"}));

  EXPECT_EQ(NetworkOf(one), "10.244.0.0/24");
  EXPECT_THAT(AddressesOf(one.at(0)), ElementsAre("10.244.0.1"));
  EXPECT_EQ(NetworkOf(two), "10.244.1.0/24");
  EXPECT_EQ(NetworkOf(three), "10.244.2.0/24") << "its own";
  EXPECT_EQ(NetworkOf(Reserve(OnNode(Node("n4"), {}))), "10.244.3.0/24");
  EXPECT_THAT(Fail(OnNode(Node("n5"), {})).text, HasSubstr("no free block"));
  EXPECT_TRUE(backend_->Release("uid-n2"));
  EXPECT_EQ(Fail(OnNode(Node("n5"), {})).kind, Kind::kExhausted) << "pods may still have the block";
}

TEST_F(PoolBackendNodeTest, BlockOfANodeIsItsOwnAfterARestart) {
  Start(kBlocks);
  (void)Reserve(OnNode(Node("n1"), {}));
  const Vifs node = Reserve(OnNode(Node("n2"), {}));

  Start(kBlocks, 2);
  backend_->Adopt(Node("n2"), node);

  EXPECT_EQ(Reserve(OnNode(Node("n2"), {})), node);
  EXPECT_EQ(NetworkOf(Reserve(OnNode(Node("n1"), {}))), "10.244.0.0/24");
}

TEST_F(PoolBackendNodeTest, NodeThatLostItsPlanGetsTheBlockOfItsPods) {
  Start(kBlocks);
  (void)Reserve(OnNode(Node("n1"), {}));
  const Vifs node = Reserve(OnNode(Node("n2"), {}));
  const Vifs pod = Reserve(OnNode(Pod("a", "team", "n2"), {NetworkOf(node)}));

  Start(kBlocks, 2);
  backend_->Adopt(Pod("a", "team", "n2"), pod);

  EXPECT_EQ(NetworkOf(Reserve(OnNode(Node("n1"), {}))), "10.244.0.0/24");
  EXPECT_EQ(NetworkOf(Reserve(OnNode(Node("n3"), {}))), "10.244.2.0/24");
  EXPECT_EQ(NetworkOf(Reserve(OnNode(Node("n2"), {}))), "10.244.1.0/24");
}

TEST_F(PoolBackendNodeTest, NodeOfASharedNetworkHasAnAddressOfItsOwn) {
  Start("[pool:pods]\ncidr = 10.2.0.0/29\nranges = 10.2.0.3-10.2.0.4\ndefault = true\n");

  const Vifs node = Reserve(RequestOf(Node("n1")));
  const Vifs pod = Reserve(Pod("a"));

  EXPECT_THAT(AddressesOf(node.at(0)), ElementsAre(testing::StartsWith("10.2.0.")));
  EXPECT_NE(AddressesOf(node[0]), AddressesOf(pod.at(0)));
  EXPECT_EQ(SubnetOf(pod[0]).cidr->ToString(), "10.2.0.0/29");
  EXPECT_EQ(Fail(RequestOf(Node("n2"))).kind, Kind::kExhausted);
  EXPECT_TRUE(backend_->Release("uid-n1"));
  Pass(seconds(30));
  EXPECT_EQ(Reserve(RequestOf(Node("n2"))).size(), 1U);
}

TEST_F(PoolBackendNodeTest, NodeIsRefusedWhereNoPoolHasAPlaceForIt) {
  Start("[pool:pods]\ncidr = 10.2.0.0/24\nnamespaces = *\n");
  EXPECT_THAT(Fail(RequestOf(Node("n1"))).text, HasSubstr("from_node = true or default = true"));

  Start("[pool:pods]\ncidr = 10.2.0.0/24\ndefault = true\nvif = macvlan\n");
  EXPECT_THAT(Fail(RequestOf(Node("n1"))).text, HasSubstr("needs vif = ovs"));
}

}  // namespace
}  // namespace kuryr::controller::pools
