#include <gmock/gmock.h>

#include "policy/admin_policy.h"
#include "policy_fixture.h"

namespace kuryr::policy {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const json kEveryPod = {{"namespaces", json::object()}};

json Spec(const char* tier, int priority, const std::vector<json>& egress) {
  return {{"tier", tier}, {"priority", priority}, {"subject", kEveryPod}, {"egress", egress}};
}

json EgressRule(const char* action, const json& peer) {
  return {{"action", action}, {"to", json::array({peer})}};
}

NetworkPolicy DecodeCluster(const json& spec) {
  return DecodeAdminPolicy({{"spec", spec}}, kClusterPolicy);
}

NetworkPolicy DecodeProtocol(const char* action, const std::string& protocols) {
  json rule = EgressRule(action, kEveryPod);
  rule["protocols"] = json::parse(protocols);
  return DecodeCluster(Spec("Admin", 1, {rule}));
}

TEST(ClusterPolicyTest, TierAndPriorityAreThoseOfTheSpec) {
  EXPECT_EQ(DecodeCluster(Spec("Admin", 7, {})).tier, PolicyTier::kAdmin);
  const NetworkPolicy baseline = DecodeCluster(Spec("Baseline", 1000, {}));
  EXPECT_EQ(baseline.tier, PolicyTier::kBaseline);
  EXPECT_EQ(baseline.priority, 1000);
  EXPECT_THAT(baseline.problem, IsEmpty());
}

TEST(ClusterPolicyTest, ProtocolsOfAllKinds) {
  const NetworkPolicy policy = DecodeProtocol("Accept", R"([
      {"tcp": {"destinationPort": {"number": 80}}}, {"udp": {"destinationPort": {"number": 53}}},
      {"sctp": {"destinationPort": {"range": {"start": 9000, "end": 9005}}}},
      {"destinationNamedPort": "http"}])");

  ASSERT_THAT(policy.rules, SizeIs(1)) << policy.problem;
  EXPECT_EQ(policy.rules[0].ports,
            (std::vector<PortRange>{{"sctp", 9000, 9005}, {"tcp", 80, 80}, {"udp", 53, 53}}));
  EXPECT_EQ(policy.rules[0].named_ports,
            (std::vector<PortName>{{"sctp", "http"}, {"tcp", "http"}, {"udp", "http"}}));
}

TEST(ClusterPolicyTest, ProtocolsThatAreNotUnderstoodFailClosed) {
  for (const char* protocols :
       {R"([])", R"([{}])", R"([{"tcp": {}}])", R"([{"tcp": null}])", R"([{"icmp": {}}])",
        R"({"tcp": {"destinationPort": {"number": 80}}})", R"([{"tcp": {"destinationPort": {}}}])",
        R"([{"tcp": {"destinationPort": {"number": 0}}}])",
        R"([{"tcp": {"destinationPort": {"number": "80"}}}])",
        R"([{"tcp": {"destinationPort": {"number": 65536}}}])",
        R"([{"tcp": {"destinationPort": {"number": 80, "range": {"start": 1, "end": 2}}}}])",
        R"([{"tcp": {"destinationPort": {"range": {"start": 9, "end": 8}}}}])",
        R"([{"tcp": {"destinationPort": {"range": {"start": 9}}}}])",
        R"([{"tcp": {"destinationPort": {"number": 80}, "sourcePort": {"number": 1}}}])",
        R"([{"tcp": {"destinationPort": {"number": 80}},
             "udp": {"destinationPort": {"number": 80}}}])",
        R"([{"tcp": {"destinationPort": {"number": 80}}, "destinationNamedPort": "http"}])",
        R"([{"destinationNamedPort": "No Port"}])", R"([{"destinationNamedPort": 80}])"}) {
    EXPECT_THAT(DecodeProtocol("Accept", protocols).rules, IsEmpty()) << protocols;
    const NetworkPolicy pass = DecodeProtocol("Pass", protocols);
    ASSERT_THAT(pass.rules, SizeIs(1)) << protocols;
    EXPECT_EQ(pass.rules[0].action, PolicyAction::kDeny) << protocols;
    EXPECT_TRUE(pass.rules[0].any_peer && pass.rules[0].any_port) << protocols;
    EXPECT_THAT(pass.problem, StartsWith("$.spec.egress[0].protocols")) << protocols;
  }
}

TEST(ClusterPolicyTest, DomainNamesAreRefusedByTheirName) {
  const NetworkPolicy policy =
      DecodeCluster(Spec("Admin", 1, {EgressRule("Accept", {{"domainNames", {"example.org"}}})}));

  EXPECT_THAT(policy.rules, IsEmpty());
  EXPECT_THAT(policy.problem, StartsWith("$.spec.egress[0].to[0].domainNames: is not supported"));
}

TEST(ClusterPolicyTest, PeersThatAreNotUnderstoodFailClosed) {
  for (const char* peer :
       {R"({})", R"(null)", R"({"networks": []})", R"({"networks": ["10.0.0.0"]})",
        R"({"networks": ["10.0.0.0/33"]})", R"({"networks": "10.0.0.0/8"})",
        R"({"nodes": {}, "namespaces": {}})", R"({"nodes": []})",
        R"({"nodes": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}})",
        R"({"services": {}})"}) {
    EXPECT_THAT(DecodeCluster(Spec("Admin", 1, {EgressRule("Accept", json::parse(peer))})).rules,
                IsEmpty())
        << peer;
    const NetworkPolicy policy =
        DecodeCluster(Spec("Admin", 1, {EgressRule("Deny", json::parse(peer))}));
    EXPECT_TRUE(policy.rules.at(0).any_peer) << peer;
    EXPECT_THAT(policy.problem, StartsWith("$.spec.egress[0].to[0]")) << peer;
  }
}

TEST(ClusterPolicyTest, IngressHasNoNodesAndNoNetworks) {
  for (const char* peer : {R"({"nodes": {}})", R"({"networks": ["10.0.0.0/8"]})"}) {
    json spec = Spec("Admin", 1, {});
    spec["ingress"] = {{{"action", "Accept"}, {"from", json::array({json::parse(peer)})}}};
    EXPECT_THAT(DecodeCluster(spec).rules, IsEmpty()) << peer;
    EXPECT_THAT(DecodeCluster(spec).problem, StartsWith("$.spec.ingress[0].from[0]")) << peer;
  }
}

TEST(ClusterPolicyTest, AnotherTierComesBeforeNetworkPoliciesAndAllowsNothing) {
  for (const json& tier : {json("admin"), json("Network"), json(1), json(nullptr)}) {
    json spec = Spec("Admin", 1, {EgressRule("Accept", kEveryPod), EgressRule("Pass", kEveryPod)});
    spec["tier"] = tier;

    const NetworkPolicy policy = DecodeCluster(spec);

    EXPECT_EQ(policy.tier, PolicyTier::kAdmin) << tier;
    EXPECT_THAT(policy.problem, StartsWith("$.spec.tier")) << tier;
    ASSERT_THAT(policy.rules, SizeIs(1)) << tier;
    EXPECT_EQ(policy.rules[0].action, PolicyAction::kDeny) << tier;
  }
}

TEST(ClusterPolicyTest, WordsOfTheOtherVersionAreNotUnderstood) {
  EXPECT_EQ(DecodeCluster(Spec("Admin", 1, {EgressRule("Allow", kEveryPod)})).rules.at(0).action,
            PolicyAction::kDeny);
  json rule = EgressRule("Accept", kEveryPod);
  rule["ports"] = {{{"portNumber", {{"port", 80}}}}};
  EXPECT_THAT(DecodeCluster(Spec("Admin", 1, {rule})).rules, IsEmpty());
}

class ClusterPolicyOfPodsTest : public PolicyTest {
 protected:
  std::string SetCluster(const std::string& name, const json& spec) {
    cluster_.Apply(compiler_.SetAdminPolicy(kClusterPolicy, name, {{"spec", spec}}));
    cluster_.ExpectNamedSets();
    return cluster_.ErrorOf("ClusterNetworkPolicy/" + name);
  }
  void SetNode(const std::string& name, Labels labels, const std::string& address) {
    const json node = {
        {"metadata", {{"labels", labels}}},
        {"status",
         {{"addresses", {{{"type", "Hostname"}, {"address", name}}, {{"address", address}}}}}}};
    cluster_.Apply(compiler_.SetNode(name, PolicyNodeOf(node)));
  }
};

TEST_F(ClusterPolicyOfPodsTest, PassInTheBaselineSkipsItsOtherPolicies) {
  SetCluster("deny", Spec("Baseline", 2, {EgressRule("Deny", kEveryPod)}));
  EXPECT_FALSE(Passes("team/web", "team/db"));

  SetCluster("pass", Spec("Baseline", 1, {EgressRule("Pass", kEveryPod)}));
  EXPECT_TRUE(Passes("team/web", "team/db"));

  Set(R"({"podSelector": {}, "policyTypes": ["Egress"]})");
  EXPECT_FALSE(Passes("team/web", "team/db")) << "a NetworkPolicy comes before the baseline";
}

TEST_F(ClusterPolicyOfPodsTest, PrioritiesAreCommonToBothVersions) {
  cluster_.Apply(compiler_.SetAdminPolicy(
      kAdminPolicy, "old",
      {{"spec",
        {{"priority", 5}, {"subject", kEveryPod}, {"egress", {EgressRule("Deny", kEveryPod)}}}}}));
  SetCluster("new", Spec("Admin", 6, {EgressRule("Accept", kEveryPod)}));
  EXPECT_FALSE(Passes("team/web", "team/db"));

  SetCluster("new", Spec("Admin", 4, {EgressRule("Accept", kEveryPod)}));
  EXPECT_TRUE(Passes("team/web", "team/db"));
}

TEST_F(ClusterPolicyOfPodsTest, TheOldBaselineIsAskedLast) {
  cluster_.Apply(compiler_.SetAdminPolicy(
      kBaselinePolicy, "default",
      {{"spec", {{"subject", kEveryPod}, {"egress", {EgressRule("Deny", kEveryPod)}}}}}));
  SetCluster("new", Spec("Baseline", 1000, {EgressRule("Accept", kEveryPod)}));

  EXPECT_TRUE(Passes("team/web", "team/db"));
}

TEST_F(ClusterPolicyOfPodsTest, NodesAreTheAddressesOfTheirStatus) {
  const json edge = {{"nodes", {{"matchLabels", {{"edge", "yes"}}}}}};
  SetCluster("nodes", Spec("Admin", 1, {EgressRule("Deny", edge)}));
  EXPECT_TRUE(compiler_.names_nodes());
  EXPECT_TRUE(Passes("team/web", "192.0.2.7"));

  SetNode("one", {{"edge", "yes"}}, "192.0.2.7");
  EXPECT_FALSE(Passes("team/web", "192.0.2.7"));
  EXPECT_TRUE(Passes("team/web", "192.0.2.8"));

  SetNode("one", {{"edge", "yes"}}, "192.0.2.8");
  EXPECT_TRUE(Passes("team/web", "192.0.2.7"));
  EXPECT_FALSE(Passes("team/web", "192.0.2.8"));

  SetNode("one", {{"edge", "no"}}, "192.0.2.8");
  EXPECT_TRUE(Passes("team/web", "192.0.2.8"));

  SetNode("one", {{"edge", "yes"}}, "192.0.2.8");
  cluster_.Apply(compiler_.RemoveNode("one"));
  EXPECT_TRUE(Passes("team/web", "192.0.2.8"));
  cluster_.Apply(compiler_.RemoveAdminPolicy(kClusterPolicy, "nodes"));
  EXPECT_FALSE(compiler_.names_nodes());
}

TEST_F(ClusterPolicyOfPodsTest, ANodeThatTellsNothingNewChangesNoPolicy) {
  SetCluster("nodes", Spec("Admin", 1, {EgressRule("Deny", {{"nodes", json::object()}})}));
  const json node = {{"status", {{"addresses", {{{"address", "192.0.2.7"}}}}}}};

  EXPECT_THAT(compiler_.SetNode("one", PolicyNodeOf(node)).policies, SizeIs(1));
  EXPECT_THAT(compiler_.SetNode("one", PolicyNodeOf(node)).policies, IsEmpty());
}

TEST_F(ClusterPolicyOfPodsTest, MoreNodesThanAPolicyCanHaveFailClosed) {
  const json all = {{"nodes", json::object()}};
  for (int i = 0; i < 30'000; ++i) {
    (void)compiler_.SetNode(std::to_string(i),
                            {.labels = {},
                             .addresses = {{IpAddress::Parse("100." + std::to_string(i / 65536) +
                                                             "." + std::to_string(i / 256 % 256) +
                                                             "." + std::to_string(i % 256))
                                                .value(),
                                            32}}});
  }
  EXPECT_THAT(SetCluster("accept", Spec("Admin", 2, {EgressRule("Accept", all)})),
              HasSubstr("addresses"));
  EXPECT_THAT(cluster_.policy("ClusterNetworkPolicy/accept").rules, IsEmpty());

  SetCluster("deny", Spec("Admin", 1, {EgressRule("Deny", all)}));
  EXPECT_FALSE(Passes("team/web", "203.0.113.1"));
}

TEST(PolicyNodeTest, KubeletsThatTellNonsenseHaveFewAddresses) {
  json node = json::parse(R"({"metadata": {"labels": {"a": 1, "b": "c"}}, "status": {"addresses": [
      1, null, "10.0.0.1", {"address": 1}, {"address": "node-1"}, {"address": "10.0.0.0/8"},
      {"address": "fe80::1%eth0"}, {"address": "2001:db8::1"}, {"address": "2001:db8::1"}]}})");
  EXPECT_THAT(PolicyNodeOf(node).labels, ElementsAre(::testing::Pair("b", "c")));
  EXPECT_THAT(PolicyNodeOf(node).addresses,
              ElementsAre(IpNetwork::Parse("2001:db8::1/128").value()));

  for (int i = 0; i < 200; ++i)
    node["status"]["addresses"].push_back({{"address", "10.0.1." + std::to_string(i)}});
  EXPECT_THAT(PolicyNodeOf(node).addresses, SizeIs(::testing::Le(PolicyNode::kMostAddresses)));
  for (const json& other : {json(), json(1), json::array(), json{{"status", 1}},
                            json{{"status", {{"addresses", "10.0.0.1"}}}}})
    EXPECT_THAT(PolicyNodeOf(other).addresses, IsEmpty());
}

}  // namespace
}  // namespace kuryr::policy
