#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "tests/controller/leading_fixture.h"

// The management ports that a leader plans for nodes.

namespace kuryr::test {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// The plan on the node; waits for it.
std::vector<vif::PodVif> WaitForNodePlan(Cluster& cluster, const std::string& name) {
  const json node = cluster.WaitFor("Node", name, [](const json& object) {
    return object.is_object() && object.value("/metadata/annotations"_json_pointer, json::object())
                                     .contains(vif::kVifAnnotation);
  });
  const json& annotations = node.at("metadata").at("annotations");
  return vif::DecodeAnnotation(annotations.at(vif::kVifAnnotation).get<std::string>());
}

constexpr const char* kNodeNetwork =
    "[node_network]\nenabled = true\n[pool:nodes]\nfrom_node = true\ndefault = true\n";

class ManagementPortTest : public LeadingTest {
 protected:
  using LeadingTest::LeadingTest;

  /// The first subnet's routes in the pod's plan, by destination.
  std::map<std::string, std::string> RoutesOf(const std::string& pod) {
    const auto vifs = VifsOn(cluster_.WaitForPlan(pod));
    const vif::Subnet& subnet = (*vif::Common(vifs.at(0).vif).network->subnets)[0];
    std::map<std::string, std::string> routes;
    for (const vif::Route& route : *subnet.routes->objects)
      routes.emplace(route.cidr->ToString(), route.gateway->ToString());
    return routes;
  }
};

/// The API server knows ServiceCIDRs, as from Kubernetes 1.33 on.
class RoutesToServicesTest : public ManagementPortTest {
 protected:
  RoutesToServicesTest()
      : ManagementPortTest({.custom_resources = {{.group = "networking.k8s.io",
                                                  .version = "v1",
                                                  .plural = "servicecidrs",
                                                  .kind = "ServiceCIDR",
                                                  .namespaced = false}}}) {}

  void CreateCidr(const std::string& name, const json& cidrs) {
    api().Create({{"kind", "ServiceCIDR"},
                  {"apiVersion", "networking.k8s.io/v1"},
                  {"metadata", {{"name", name}}},
                  {"spec", {{"cidrs", cidrs}}}});
  }
};

TEST_F(ManagementPortTest, NodeGetsAManagementPort) {
  Pools(kNodeNetwork);
  api().Patch("nodes", "", "node1", {{"spec", {{"podCIDRs", {"10.77.3.0/24"}}}}});
  Start();
  cluster_.CreatePod("a");

  const auto vifs = WaitForNodePlan(cluster_, "node1");

  ASSERT_EQ(vifs.size(), 1U);
  EXPECT_TRUE(vif::IsActive(vifs[0]));
  EXPECT_EQ(vif::AddressesOf(vif::Common(vifs[0].vif)).at(0).ToString(), "10.77.3.1/24");
  const auto pod = VifsOn(cluster_.WaitForPlan("a"));
  const vif::Subnet& subnet = (*vif::Common(pod.at(0).vif).network->subnets)[0];
  EXPECT_EQ(subnet.cidr->prefix_length, 32);
  EXPECT_EQ(subnet.gateway->ToString(), "10.77.3.1");
  EXPECT_THAT(Metrics(), HasSubstr("kuryr_controller_nodes{state=\"planned\"} 1\n"));
}

TEST_F(ManagementPortTest, PlanOfANodeIsWrittenOnceAndRestored) {
  Pools(kNodeNetwork);
  api().Patch("nodes", "", "node1", {{"spec", {{"podCIDRs", {"10.77.3.0/24"}}}}});
  Start();
  (void)WaitForNodePlan(cluster_, "node1");
  Restart();
  cluster_.CreatePod("a");
  (void)cluster_.WaitForPlan("a");
  EXPECT_EQ(Writes("/api/v1/nodes"), 1U);

  const char* annotation = "openstack.org/kuryr-vif";
  api().Patch("nodes", "", "node1", {{"metadata", {{"annotations", {{annotation, nullptr}}}}}});

  EXPECT_EQ(WaitForNodePlan(cluster_, "node1").size(), 1U);
}

TEST_F(ManagementPortTest, NodeWithoutNetworksIsToldSoUntilItHasThem) {
  Pools(kNodeNetwork);
  Start();
  EXPECT_THAT(cluster_.WaitForEvent("node1", "KuryrBackendUnavailable"),
              HasSubstr("has no networks of its own yet"));

  api().Patch("nodes", "", "node1", {{"spec", {{"podCIDRs", {"10.77.3.0/24"}}}}});

  EXPECT_EQ(WaitForNodePlan(cluster_, "node1").size(), 1U);
}

TEST_F(ManagementPortTest, NodeThatMayGetABlockWaitsForNetworksOfItsOwn) {
  Pools(std::string(kNodeNetwork) + "cidr = 10.78.0.0/16\nnode_prefix = 24\n");
  Start();
  cluster_.CreatePod("a");
  (void)cluster_.WaitForEvent("a", "KuryrBackendUnavailable");

  api().Patch("nodes", "", "node1", {{"spec", {{"podCIDRs", {"10.77.3.0/24"}}}}});

  const auto vifs = WaitForNodePlan(cluster_, "node1");
  EXPECT_EQ(vif::AddressesOf(vif::Common(vifs.at(0).vif)).at(0).ToString(), "10.77.3.1/24");
}

TEST_F(ManagementPortTest, PlanThatSomebodyElseWritesOnANodeTakesNothing) {
  Pools(
      "[node_network]\nenabled = true\n[pool:flat]\ncidr = 10.9.0.0/29\n"
      "ranges = 10.9.0.2-10.9.0.3\ndefault = true\nrest = 0\n");
  Start();
  auto forged = WaitForNodePlan(cluster_, "node1");
  auto& ips = *vif::Common(forged.at(0).vif).network->subnets->objects->at(0).ips->objects;
  const std::string other = ips.at(0).address->ToString() == "10.9.0.2" ? "10.9.0.3" : "10.9.0.2";
  ips.push_back({.address = IpAddress::Parse(other).value()});

  api().Patch("nodes", "", "node1",
              {{"metadata",
                {{"annotations", {{"openstack.org/kuryr-vif", vif::EncodeAnnotation(forged)}}}}}});
  cluster_.CreatePod("a");

  EXPECT_EQ(AddressOn(cluster_.WaitForPlan("a")), other);
}

TEST_F(ManagementPortTest, PoolOfNodesNetworksNeedsNotBeTheManagementPorts) {
  Pools(
      "[node_network]\nenabled = true\n[pool:flat]\ncidr = 10.9.0.0/24\ndefault = true\n"
      "[pool:own]\nfrom_node = true\nvif = macvlan\nnamespaces = default\n");
  api().Patch("nodes", "", "node1", {{"spec", {{"podCIDRs", {"10.77.3.0/24"}}}}});
  Start();
  cluster_.CreatePod("a");

  EXPECT_THAT(AddressOn(cluster_.WaitForPlan("a")), ::testing::StartsWith("10.77.3."));
}

TEST_F(ManagementPortTest, AddressOfANodeThatIsGoneIsFree) {
  Pools(
      "[node_network]\nenabled = true\n[pool:flat]\ncidr = 10.9.0.0/29\n"
      "ranges = 10.9.0.2-10.9.0.2\ndefault = true\nrest = 0\n");
  Start();
  (void)WaitForNodePlan(cluster_, "node1");
  api().Create({{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", {{"name", "node2"}}}});
  (void)cluster_.WaitForEvent("node2", "KuryrNoFreeAddress");

  api().Delete("nodes", "", "node1");

  EXPECT_EQ(WaitForNodePlan(cluster_, "node2").size(), 1U);
}

TEST_F(ManagementPortTest, PodOfASharedNetworkReachesServicesByItsNode) {
  Pools(
      "[node_network]\nenabled = true\nservice_cidrs = 10.96.0.0/12, fd00:96::/108\n"
      "[pool:flat]\ncidr = 10.9.0.0/24\ndefault = true\n");
  Start();
  cluster_.CreatePod("a");

  const auto node = WaitForNodePlan(cluster_, "node1");
  const std::string gateway =
      vif::AddressesOf(vif::Common(node.at(0).vif)).at(0).address.ToString();
  EXPECT_THAT(RoutesOf("a"), ElementsAre(Pair("10.96.0.0/12", gateway)));
}

constexpr const char* kFlat =
    "[node_network]\nenabled = true\n[pool:flat]\ncidr = 10.9.0.0/24\ndefault = true\n";

TEST_F(RoutesToServicesTest, LeadToAllNetworksOfServices) {
  CreateCidr("kubernetes", {"10.96.0.0/16"});
  CreateCidr("more", {"10.200.0.0/16", "fd00:96::/108"});
  Pools(kFlat);
  Start();
  cluster_.CreatePod("a");
  EXPECT_THAT(RoutesOf("a"), ElementsAre(Pair("10.200.0.0/16", _), Pair("10.96.0.0/12", _)));
}

}  // namespace
}  // namespace kuryr::test
