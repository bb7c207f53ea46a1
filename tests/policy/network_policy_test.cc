#include "policy_fixture.h"

namespace kuryr::policy {
namespace {

using ::testing::UnorderedElementsAre;

TEST_F(PolicyTest, WithoutAPolicyAllPasses) {
  EXPECT_TRUE(Passes("other/client", "team/web"));
  EXPECT_TRUE(Passes("team/web", "192.0.2.1"));
  EXPECT_TRUE(Passes("192.0.2.1", "team/web"));
}

TEST_F(PolicyTest, AnEmptySpecIsolatesIngressOfAllPodsOfItsNamespace) {
  EXPECT_EQ(Set("{}"), "");
  EXPECT_FALSE(Passes("other/client", "team/web"));
  EXPECT_FALSE(Passes("team/db", "team/web"));
  EXPECT_FALSE(Passes("192.0.2.1", "team/db"));
  EXPECT_TRUE(Passes("team/web", "other/web"));
}

TEST_F(PolicyTest, AnEmptyPodSelectorSelectsAllPodsOfItsNamespace) {
  EXPECT_EQ(Set(R"({"podSelector": {}, "ingress": []})"), "");
  EXPECT_FALSE(Passes("other/client", "team/web"));
  EXPECT_FALSE(Passes("other/client", "team/db"));
  EXPECT_TRUE(Passes("team/db", "other/web"));
}

TEST_F(PolicyTest, APodSelectorSelectsPodsOfItsNamespaceOnly) {
  EXPECT_EQ(Set(R"({"podSelector": {"matchLabels": {"app": "web"}}})"), "");
  EXPECT_FALSE(Passes("other/client", "team/web"));
  EXPECT_TRUE(Passes("other/client", "team/db"));
  EXPECT_TRUE(Passes("other/client", "other/web"));
}

TEST_F(PolicyTest, MatchExpressionsHaveFourOperators) {
  const auto selects_web = [&](const std::string& expression) {
    EXPECT_EQ(Set(R"({"podSelector": {"matchExpressions": [)" + expression + "]}}"), "");
    return std::pair(!Passes("192.0.2.1", "team/web"), !Passes("192.0.2.1", "team/db"));
  };
  const std::pair web(true, false);
  const std::pair db(false, true);
  const std::pair both(true, true);
  EXPECT_EQ(selects_web(R"({"key": "app", "operator": "In", "values": ["x", "web"]})"), web);
  EXPECT_EQ(selects_web(R"({"key": "app", "operator": "NotIn", "values": ["x", "web"]})"), db);
  EXPECT_EQ(selects_web(R"({"key": "tier", "operator": "NotIn", "values": ["front"]})"), db);
  EXPECT_EQ(selects_web(R"({"key": "none", "operator": "NotIn", "values": ["x"]})"), both);
  EXPECT_EQ(selects_web(R"({"key": "tier", "operator": "Exists"})"), web);
  EXPECT_EQ(selects_web(R"({"key": "tier", "operator": "DoesNotExist", "values": []})"), db);
  EXPECT_EQ(selects_web(R"({"key": "tier", "operator": "DoesNotExist"},
                           {"key": "app", "operator": "In", "values": ["web", "db"]})"),
            db);
}

TEST_F(PolicyTest, MatchLabelsAndMatchExpressionsHaveToHoldBoth) {
  EXPECT_EQ(Set(R"({"podSelector": {"matchLabels": {"app": "web"},
      "matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}})"),
            "");
  EXPECT_TRUE(Passes("192.0.2.1", "team/web"));
}

TEST_F(PolicyTest, PolicyTypesAreIngressAndEgressWhereThereAreEgressRules) {
  EXPECT_EQ(Set(R"({"egress": [{"to": [{"podSelector": {}}]}]})"), "");
  EXPECT_FALSE(Passes("team/db", "other/web"));
  EXPECT_FALSE(Passes("other/client", "team/db"));
  EXPECT_EQ(Set(R"({"egress": []})"), "");
  EXPECT_TRUE(Passes("team/db", "other/web"));
}

TEST_F(PolicyTest, PolicyTypesThatAreGivenCountAlone) {
  EXPECT_EQ(Set(R"({"policyTypes": ["Egress"]})"), "");
  EXPECT_FALSE(Passes("team/db", "other/web"));
  EXPECT_TRUE(Passes("other/client", "team/db"));
  EXPECT_EQ(Set(R"({"policyTypes": ["Ingress"], "egress": [{"to": [{"podSelector": {}}]}]})"), "");
  EXPECT_TRUE(Passes("team/db", "other/web"));
  EXPECT_FALSE(Passes("other/client", "team/db"));
  EXPECT_EQ(Set(R"({"policyTypes": ["Ingress", "Egress"]})"), "");
  EXPECT_FALSE(Passes("team/db", "other/web"));
  EXPECT_FALSE(Passes("other/client", "team/db"));
}

TEST_F(PolicyTest, AnEmptyRuleAllowsAll) {
  EXPECT_EQ(Set(R"({"policyTypes": ["Ingress", "Egress"], "ingress": [{}], "egress": [{}]})"), "");
  EXPECT_TRUE(Passes("192.0.2.1", "team/db", 1, "sctp"));
  EXPECT_TRUE(Passes("team/db", "192.0.2.1", 1, "icmp"));
}

TEST_F(PolicyTest, AnEmptyListOfPeersOrPortsAllowsAll) {
  EXPECT_EQ(Set(R"({"ingress": [{"from": [], "ports": []}]})"), "");
  EXPECT_TRUE(Passes("192.0.2.1", "team/db", 1, "icmp"));
}

TEST_F(PolicyTest, APodSelectorOfAPeerChoosesInThePolicysNamespace) {
  EXPECT_EQ(Set(R"({"podSelector": {"matchLabels": {"app": "db"}},
      "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "web"}}}]}]})"),
            "");
  EXPECT_TRUE(Passes("team/web", "team/db"));
  EXPECT_FALSE(Passes("other/web", "team/db"));
}

TEST_F(PolicyTest, ANamespaceSelectorChoosesAllPodsOfItsNamespaces) {
  EXPECT_EQ(Set(R"({"podSelector": {"matchLabels": {"app": "db"}},
      "ingress": [{"from": [{"namespaceSelector": {"matchLabels": {"team": "b"}}}]}]})"),
            "");
  EXPECT_FALSE(Passes("team/web", "team/db"));
  EXPECT_TRUE(Passes("other/web", "team/db"));
  EXPECT_TRUE(Passes("other/client", "team/db"));
}

TEST_F(PolicyTest, BothSelectorsInOnePeerHaveToHoldBoth) {
  EXPECT_EQ(Set(R"({"podSelector": {"matchLabels": {"app": "db"}},
      "ingress": [{"from": [{"namespaceSelector": {"matchLabels": {"team": "b"}},
                             "podSelector": {"matchLabels": {"app": "web"}}}]}]})"),
            "");
  EXPECT_FALSE(Passes("team/web", "team/db"));
  EXPECT_TRUE(Passes("other/web", "team/db"));
  EXPECT_FALSE(Passes("other/client", "team/db"));
}

TEST_F(PolicyTest, TwoPeersAreOneOrTheOther) {
  EXPECT_EQ(Set(R"({"podSelector": {"matchLabels": {"app": "db"}},
      "ingress": [{"from": [{"namespaceSelector": {"matchLabels": {"team": "b"}}},
                            {"podSelector": {"matchLabels": {"app": "web"}}}]}]})"),
            "");
  EXPECT_TRUE(Passes("team/web", "team/db"));
  EXPECT_TRUE(Passes("other/client", "team/db"));
  EXPECT_FALSE(Passes("192.0.2.1", "team/db"));
}

TEST_F(PolicyTest, AnEmptyNamespaceSelectorChoosesAllPodsAndNothingElse) {
  EXPECT_EQ(Set(R"({"ingress": [{"from": [{"namespaceSelector": {}}]}]})"), "");
  EXPECT_TRUE(Passes("other/client", "team/db"));
  EXPECT_TRUE(Passes("team/web", "team/db"));
  EXPECT_FALSE(Passes("192.0.2.1", "team/db"));
}

TEST_F(PolicyTest, ANamespaceHasNoLabelThatItsObjectLacks) {
  EXPECT_EQ(Set(R"({"ingress": [{"from": [{"namespaceSelector":
      {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}]}]})"),
            "");
  EXPECT_FALSE(Passes("other/client", "team/db"));
}

TEST_F(PolicyTest, ABlockHasItsAddressesWithoutTheExceptions) {
  EXPECT_EQ(Set(R"({"policyTypes": ["Ingress", "Egress"],
      "ingress": [{"from": [{"ipBlock": {"cidr": "192.0.2.77/24", "except": ["192.0.2.0/28"]}}]}],
      "egress": [{"to": [{"ipBlock": {"cidr": "2001:db8::/32"}}]}]})"),
            "");
  EXPECT_TRUE(Passes("192.0.2.16", "team/db"));
  EXPECT_FALSE(Passes("192.0.2.15", "team/db"));
  EXPECT_FALSE(Passes("192.0.3.1", "team/db"));
  EXPECT_TRUE(Passes("team/db", "2001:db8::1"));
  EXPECT_FALSE(Passes("team/db", "192.0.2.16"));
}

TEST_F(PolicyTest, APortIsOfTcpWhereNoProtocolIsNamed) {
  EXPECT_EQ(Set(R"({"ingress": [{"ports": [{"port": 80}]}]})"), "");
  EXPECT_TRUE(Passes("192.0.2.1", "team/db", 80));
  EXPECT_FALSE(Passes("192.0.2.1", "team/db", 81));
  EXPECT_FALSE(Passes("192.0.2.1", "team/db", 80, "udp"));
}

TEST_F(PolicyTest, AProtocolWithoutAPortHasAllPorts) {
  EXPECT_EQ(Set(R"({"ingress": [{"ports": [{"protocol": "SCTP"}]}]})"), "");
  EXPECT_TRUE(Passes("192.0.2.1", "team/db", 65'535, "sctp"));
  EXPECT_FALSE(Passes("192.0.2.1", "team/db", 80, "tcp"));
  EXPECT_FALSE(Passes("192.0.2.1", "team/db", 80, "icmp"));
}

TEST_F(PolicyTest, AnEmptyPortIsAllOfTcp) {
  EXPECT_EQ(Set(R"({"ingress": [{"ports": [{}]}]})"), "");
  EXPECT_TRUE(Passes("192.0.2.1", "team/db", 1));
  EXPECT_FALSE(Passes("192.0.2.1", "team/db", 1, "udp"));
}

TEST_F(PolicyTest, AnEndPortIsTheLastOfARange) {
  EXPECT_EQ(Set(R"({"ingress": [{"ports": [{"protocol": "UDP", "port": 10, "endPort": 20}]}]})"),
            "");
  EXPECT_FALSE(Passes("192.0.2.1", "team/db", 9, "udp"));
  EXPECT_TRUE(Passes("192.0.2.1", "team/db", 10, "udp"));
  EXPECT_TRUE(Passes("192.0.2.1", "team/db", 20, "udp"));
  EXPECT_FALSE(Passes("192.0.2.1", "team/db", 21, "udp"));
}

TEST_F(PolicyTest, ANamedPortOfIngressIsThatOfThePodThatReceives) {
  EXPECT_EQ(Set(R"({"ingress": [{"ports": [{"port": "http"}]}]})"), "");
  EXPECT_TRUE(Passes("other/web", "team/web", 8080));
  EXPECT_FALSE(Passes("other/web", "team/web", 8000));
  EXPECT_FALSE(Passes("other/web", "team/db", 8080));
}

TEST_F(PolicyTest, ANamedPortOfEgressIsThatOfThePeer) {
  EXPECT_EQ(Set(R"({"policyTypes": ["Egress"], "egress": [{"to": [{"namespaceSelector": {}}],
      "ports": [{"port": "http"}]}]})"),
            "");
  EXPECT_TRUE(Passes("team/db", "team/web", 8080));
  EXPECT_TRUE(Passes("team/db", "other/web", 8000));
  EXPECT_FALSE(Passes("team/db", "other/web", 8080));
  EXPECT_FALSE(Passes("team/db", "192.0.2.1", 8080));
}

TEST_F(PolicyTest, ANamedPortOfEgressWithoutPeersIsThatOfAnyPod) {
  EXPECT_EQ(Set(R"({"policyTypes": ["Egress"], "egress": [{"ports": [{"port": "http"}]}]})"), "");
  EXPECT_TRUE(Passes("team/db", "other/web", 8000));
  EXPECT_FALSE(Passes("team/db", "other/client", 8000));
  EXPECT_FALSE(Passes("team/db", "192.0.2.1", 8000));
}

TEST_F(PolicyTest, ANamedPortHasToHaveTheProtocol) {
  EXPECT_EQ(Set(R"({"ingress": [{"ports": [{"port": "http", "protocol": "UDP"}]}]})"), "");
  EXPECT_FALSE(Passes("other/web", "team/web", 8080));
  EXPECT_FALSE(Passes("other/web", "team/web", 8080, "udp"));
}

TEST_F(PolicyTest, TheFirstPortOfANameCounts) {
  AddPod("team/web", {{"app", "web"}},
         {{.name = {.protocol = "udp", .name = "http"}, .number = 1},
          {.name = {.protocol = "tcp", .name = "http"}, .number = 2},
          {.name = {.protocol = "tcp", .name = "http"}, .number = 3}});
  EXPECT_EQ(Set(R"({"ingress": [{"ports": [{"port": "http"}]}]})"), "");
  EXPECT_TRUE(Passes("other/web", "team/web", 2));
  EXPECT_FALSE(Passes("other/web", "team/web", 1));
  EXPECT_FALSE(Passes("other/web", "team/web", 3));
}

TEST_F(PolicyTest, PoliciesAdd) {
  EXPECT_EQ(Set(R"({"ingress": [{"ports": [{"port": 80}]}]})"), "");
  cluster_.Apply(compiler_.SetPolicy(
      "team", "q", nlohmann::json::parse(R"({"spec": {"ingress": [{"ports": [{"port": 81}]}]}})")));
  EXPECT_TRUE(Passes("other/web", "team/web", 80));
  EXPECT_TRUE(Passes("other/web", "team/web", 81));
  EXPECT_FALSE(Passes("other/web", "team/web", 82));
}

TEST_F(PolicyTest, BothEndsHaveToAllow) {
  EXPECT_EQ(Set(R"({"podSelector": {"matchLabels": {"app": "web"}},
      "policyTypes": ["Egress"], "egress": [{"to": [{"podSelector": {}}]}]})"),
            "");
  EXPECT_TRUE(Passes("team/web", "team/db"));
  cluster_.Apply(compiler_.SetPolicy(
      "team", "q",
      nlohmann::json::parse(R"({"spec": {"podSelector": {"matchLabels": {"app": "db"}}}})")));
  EXPECT_FALSE(Passes("team/web", "team/db"));
}

TEST_F(PolicyTest, ASetsNameSaysWhatItChooses) {
  EXPECT_EQ(Set(R"({"podSelector": {"matchLabels": {"tier": "front", "app": "web"},
        "matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["2", "1", "2"]},
                             {"key": "y", "operator": "Exists"},
                             {"key": "z", "operator": "DoesNotExist"}]},
      "ingress": [{"from": [{"namespaceSelector": {"matchLabels": {"team": "b"}}}]}]})"),
            "");
  const CompiledPolicy& policy = cluster_.policy("team/p");
  EXPECT_EQ(policy.subject, "ns=team pods=app=web,tier=front,x notin (1,2),y,!z");
  EXPECT_THAT(policy.rules.at(0).peers, UnorderedElementsAre("namespaces=team=b pods="));
}

TEST_F(PolicyTest, APartsNameSaysWhichPortDividesItsSet) {
  EXPECT_EQ(Set(R"({"ingress": [{"ports": [{"port": "http"}]}]})"), "");
  EXPECT_THAT(cluster_.SetsOf("team/web"),
              UnorderedElementsAre("ns=team pods=", "ns=team pods=|tcp/http=8080"));
  EXPECT_THAT(cluster_.SetsOf("team/db"), UnorderedElementsAre("ns=team pods="));
}

TEST_F(PolicyTest, EqualSelectorsGiveOneName) {
  EXPECT_EQ(Set(R"({"podSelector": {"matchLabels": {"app": "web"}}})"), "");
  const CompiledPolicy as_labels = cluster_.policy("team/p");
  const PolicyChanges changes =
      compiler_.SetPolicy("team", "p",
                          nlohmann::json::parse(
                              R"({"spec": {"podSelector": {"matchExpressions": [
          {"key": "app", "operator": "In", "values": ["web"]}]}}})"));
  EXPECT_EQ(changes, PolicyChanges());
}

TEST(PolicyPodTest, OfAnObjectHasItsPortsInOrder) {
  const auto pod = PolicyPodOf(nlohmann::json::parse(R"({
      "metadata": {"uid": "u", "namespace": "team", "labels": {"app": "web"}},
      "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 80},
                                         {"containerPort": 81}]},
                              {"ports": [{"name": "dns", "protocol": "UDP",
                                          "containerPort": 53}]}],
               "initContainers": [{"ports": [{"name": "no", "containerPort": 1}]},
                                  {"restartPolicy": "Always",
                                   "ports": [{"name": "sctp", "protocol": "SCTP",
                                              "containerPort": 9}]}]}})"));
  const PolicyPod expected{
      .uid = "u",
      .name_space = "team",
      .labels = {{"app", "web"}},
      .ports = {{{"tcp", "http"}, 80}, {{"udp", "dns"}, 53}, {{"sctp", "sctp"}, 9}}};
  EXPECT_EQ(pod, expected);
}

TEST(PolicyPodTest, PodOfTheHostsNetworkIsNone) {
  EXPECT_FALSE(PolicyPodOf(nlohmann::json::parse(R"({"spec": {"hostNetwork": true}})")));
}

TEST(PolicyPodTest, PodCountsWhateverItsStatusSays) {
  EXPECT_TRUE(PolicyPodOf(nlohmann::json::parse(R"({"status": {"phase": "Succeeded"}})")));
}

}  // namespace
}  // namespace kuryr::policy
