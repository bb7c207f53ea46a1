#include "policy_fixture.h"

namespace kuryr::policy {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::StartsWith;

struct Malformed {
  const char* spec;
  const char* problem;  ///< its begin
};

class MalformedPolicyTest : public PolicyTest {
 protected:
  /// Both ways, for pods of this namespace.
  void ExpectIsolated(const std::string& uid) const {
    EXPECT_FALSE(Passes("192.0.2.1", uid));
    EXPECT_FALSE(Passes(uid, "192.0.2.1"));
    EXPECT_FALSE(Passes(uid, "other/web"));
  }
};

TEST_F(MalformedPolicyTest, ARuleThatIsNotUnderstoodAllowsNothing) {
  const std::vector<Malformed> rules = {
      {R"(null)", "$.spec.ingress[0]: is null"},
      {R"([])", "$.spec.ingress[0]: is no object"},
      {R"({"to": [{"podSelector": {}}]})", "$.spec.ingress[0]: has a member that is not known"},
      {R"({"from": {}})", "$.spec.ingress[0].from: is no list"},
      {R"({"from": [null]})", "$.spec.ingress[0].from[0]: is null"},
      {R"({"from": [{}]})", "$.spec.ingress[0].from[0]: needs an ipBlock"},
      {R"({"from": [{"podSelector": {}, "ipBlock": {"cidr": "0.0.0.0/0"}}]})",
       "$.spec.ingress[0].from[0]: needs an ipBlock"},
      {R"({"from": [{"podSelector": {}}, {"serviceSelector": {}}]})",
       "$.spec.ingress[0].from[1]: has a member that is not known: \"serviceSelector\""},
      {R"({"from": [{"podSelector": {"matchLabels": {"a": 1}}}]})",
       "$.spec.ingress[0].from[0].podSelector.matchLabels.a: is no string"},
      {R"({"from": [{"podSelector": {"matchLabels": {"a": "x,y=z"}}}]})",
       "$.spec.ingress[0].from[0].podSelector.matchLabels.a: is \"x,y=z\""},
      {R"({"from": [{"podSelector": {"matchLabels": {"a|b": "c"}}}]})",
       "$.spec.ingress[0].from[0].podSelector.matchLabels['a|b']: \"a|b\" is no key"},
      {R"({"from": [{"podSelector": {"matchLabels": {"": "c"}}}]})",
       "$.spec.ingress[0].from[0].podSelector.matchLabels"},
      {R"({"from": [{"podSelector": {"matchFields": []}}]})",
       "$.spec.ingress[0].from[0].podSelector: has a member that is not known"},
      {R"({"from": [{"podSelector": {"matchExpressions": [{"operator": "Exists"}]}}]})",
       "$.spec.ingress[0].from[0].podSelector.matchExpressions[0].key: is no string"},
      {R"({"from": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "Gt",
                                                           "values": ["1"]}]}}]})",
       "$.spec.ingress[0].from[0].podSelector.matchExpressions[0].operator: is \"Gt\"; expected"},
      {R"({"from": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]})",
       "$.spec.ingress[0].from[0].podSelector.matchExpressions[0].values: is empty"},
      {R"({"from": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "Exists",
                                                           "values": ["1"]}]}}]})",
       "$.spec.ingress[0].from[0].podSelector.matchExpressions[0].values: is not empty"},
      {R"({"from": [{"ipBlock": {}}]})", "$.spec.ingress[0].from[0].ipBlock.cidr: is no string"},
      {R"({"from": [{"ipBlock": {"cidr": "0.0.0.0"}}]})",
       "$.spec.ingress[0].from[0].ipBlock.cidr: is \"0.0.0.0\"; expected ADDRESS/LENGTH"},
      {R"({"from": [{"ipBlock": {"cidr": "0.0.0.0/33"}}]})",
       "$.spec.ingress[0].from[0].ipBlock.cidr: is \"0.0.0.0/33\""},
      {R"({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]}}]})",
       "$.spec.ingress[0].from[0].ipBlock.except[0]: is \"10.0.0.0/8\"; expected a part of"},
      {R"({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["fd00::/64"]}}]})",
       "$.spec.ingress[0].from[0].ipBlock.except[0]: is \"fd00::/64\""},
      {R"({"ports": [{"protocol": "tcp"}]})",
       "$.spec.ingress[0].ports[0].protocol: is \"tcp\"; expected TCP, UDP or SCTP"},
      {R"({"ports": [{"port": 0}]})", "$.spec.ingress[0].ports[0].port: is no whole number"},
      {R"({"ports": [{"port": 65536}]})", "$.spec.ingress[0].ports[0].port: is no whole number"},
      {R"({"ports": [{"port": 18446744073709551615}]})",
       "$.spec.ingress[0].ports[0].port: is no whole number"},
      {R"({"ports": [{"port": 80.0}]})", "$.spec.ingress[0].ports[0].port: is no whole number"},
      {R"({"ports": [{"port": ""}]})", "$.spec.ingress[0].ports[0].port: is \"\""},
      {R"({"ports": [{"port": "80"}]})", "$.spec.ingress[0].ports[0].port: is \"80\""},
      {R"({"ports": [{"port": "a=b"}]})", "$.spec.ingress[0].ports[0].port: is \"a=b\""},
      {R"({"ports": [{"endPort": 80}]})", "$.spec.ingress[0].ports[0].endPort: needs a port"},
      {R"({"ports": [{"port": "http", "endPort": 80}]})",
       "$.spec.ingress[0].ports[0].endPort: needs a port that is a number"},
      {R"({"ports": [{"port": 80, "endPort": 79}]})",
       "$.spec.ingress[0].ports[0].endPort: is no whole number from 80"},
  };
  for (const Malformed& rule : rules) {
    const std::string spec = std::string(R"({"ingress": [)") + rule.spec +
                             R"(, {"from": [{"podSelector": {"matchLabels": {"app": "web"}}}]}]})";
    EXPECT_THAT(Set(spec), StartsWith(rule.problem)) << rule.spec;
    EXPECT_FALSE(Passes("192.0.2.1", "team/db")) << rule.spec;
    EXPECT_FALSE(Passes("10.0.0.1", "team/db")) << rule.spec;
    EXPECT_FALSE(Passes("other/web", "team/db")) << rule.spec;
    EXPECT_TRUE(Passes("team/web", "team/db")) << rule.spec << " takes other rules with it";
  }
}

TEST_F(MalformedPolicyTest, APolicyThatIsNotUnderstoodIsolatesBothWays) {
  const std::vector<Malformed> specs = {
      {R"([])", "$.spec: is no object"},
      {R"("x")", "$.spec: is no object"},
      {R"({"policyTypes": {}, "ingress": [{}], "egress": [{}]})", "$.spec.policyTypes: is no list"},
      {R"({"policyTypes": ["Ingress", "Forward"], "ingress": [{}], "egress": [{}]})",
       "$.spec.policyTypes[1]: is \"Forward\"; expected Ingress or Egress"},
      {R"({"policyTypes": [1], "ingress": [{}], "egress": [{}]})",
       "$.spec.policyTypes[0]: is no string"},
      {R"({"action": "Deny", "ingress": [{}], "egress": [{}]})",
       "$.spec: has a member that is not known: \"action\""},
      {R"({"podSelector": [], "ingress": [{}], "egress": [{}]})",
       "$.spec.podSelector: is no object"},
      {R"({"podSelector": {"matchLabels": []}, "ingress": [{}], "egress": [{}]})",
       "$.spec.podSelector.matchLabels: is no object"},
      {R"({"ingress": 1, "egress": {}})", "$.spec.ingress: is no list (and 1 more)"},
  };
  for (const Malformed& malformed : specs) {
    EXPECT_THAT(Set(std::string(malformed.spec)), StartsWith(malformed.problem));
    ExpectIsolated("team/web");
    ExpectIsolated("team/db");
    EXPECT_TRUE(Passes("192.0.2.1", "other/web")) << malformed.spec;
  }
}

TEST_F(MalformedPolicyTest, ObjectsOfAnyKindAreTaken) {
  for (const char* object : {"[]", "7", "\"text\"", "{\"spec\": true}"}) {
    const PolicyChanges changes = compiler_.SetPolicy("team", "p", json::parse(object));
    cluster_.Apply(changes);
    EXPECT_THAT(changes.errors, ::testing::SizeIs(1)) << object;
    ExpectIsolated("team/web");
    Remove();
  }
}

TEST_F(MalformedPolicyTest, OtherPoliciesHoldBesideIt) {
  cluster_.Apply(compiler_.SetPolicy(
      "team", "q", json::parse(R"({"spec": {"ingress": [{"ports": [{"port": 81}]}]}})")));
  EXPECT_THAT(Set(R"({"policyTypes": ["x"]})"), StartsWith("$.spec.policyTypes[0]"));
  EXPECT_TRUE(Passes("192.0.2.1", "team/db", 81));
}

TEST_F(MalformedPolicyTest, AnErrorThatComesOrGoesIsAChangeOfThePolicy) {
  EXPECT_EQ(Set(R"({"ingress": []})"), "");
  EXPECT_THAT(Set(R"({"ingress": [1]})"), StartsWith("$.spec.ingress[0]"));
  const PolicyChanges changes =
      compiler_.SetPolicy("team", "p", json::parse(R"({"spec": {"ingress": []}})"));
  EXPECT_THAT(changes.policies, ElementsAre(Key("team/p")));
  EXPECT_THAT(changes.errors, IsEmpty());
}

TEST_F(MalformedPolicyTest, WithTooManyPartsItsRulesBeyondTheBudgetAllowNothing) {
  const json all = {{"from", {{{"ipBlock", {{"cidr", "0.0.0.0/0"}}}}}}};
  json spec = {{"ingress", json::array()}};
  for (size_t i = 0; i < PolicyBudget::kMostParts; ++i) spec["ingress"].push_back(all);
  EXPECT_THAT(SetSpec(spec), HasSubstr("$.spec.ingress[0].from: is more than a policy may have"));
  EXPECT_FALSE(Passes("192.0.2.1", "team/db"));

  spec["ingress"].push_back(all);
  EXPECT_EQ(SetSpec(spec), "$.spec.ingress: is more than a policy may have");
  EXPECT_FALSE(Passes("192.0.2.1", "team/db"));

  spec["ingress"] = json::array({all});
  spec["ingress"][0]["from"][0]["ipBlock"]["except"] =
      json::array_t(PolicyBudget::kMostParts, "192.0.2.0/28");
  EXPECT_THAT(SetSpec(spec), HasSubstr("ipBlock.except: is more than a policy may have"));
  EXPECT_FALSE(Passes("192.0.2.16", "team/db"));
}

TEST_F(MalformedPolicyTest, ExceptionsCountWithTheNetworksThatTheyLeave) {
  json block = {{"cidr", "::/0"}, {"except", json::array()}};
  for (int i = 0; i < 150; ++i)
    block["except"].push_back("2001:db8:" + std::to_string(i) + "::1/128");
  const json spec = {{"ingress", {{{"from", {{{"ipBlock", block}}}}}}}};

  EXPECT_THAT(SetSpec(spec), HasSubstr("from[0].ipBlock: is more than a policy may have"));
  EXPECT_FALSE(Passes("2001:db8::2", "team/db"));
}

TEST_F(MalformedPolicyTest, NamedPortsOfManyPeersHaveTheBudget) {
  json rule = {{"to", json::array()}, {"ports", json::array()}};
  for (size_t i = 0; i < 150; ++i) {
    rule["to"].push_back({{"podSelector", {{"matchLabels", {{"app", std::to_string(i)}}}}}});
    rule["ports"].push_back({{"port", "p" + std::to_string(i)}});
  }
  const json spec = {{"egress", {rule}}};
  EXPECT_EQ(SetSpec(spec), "$.spec.egress[0]: is more than a policy may have");
  EXPECT_THAT(cluster_.policy("team/p").rules, IsEmpty());
}

TEST_F(MalformedPolicyTest, DifferentSelectorsHaveTheBudgetAndEqualOnesAreOne) {
  const auto from = [](const std::string& app) {
    return json{{"from", {{{"podSelector", {{"matchLabels", {{"app", app}}}}}}}}};
  };
  json spec = {{"ingress", {{{"from", json::array()}}}}};
  json& peers = spec["ingress"][0]["from"];
  for (size_t i = 0; i < 2000; ++i) peers.push_back(from("web")["from"][0]);
  EXPECT_EQ(SetSpec(spec), "");
  for (size_t i = 0; i < 2000; ++i) peers.push_back(from(std::to_string(i))["from"][0]);
  EXPECT_THAT(SetSpec(spec), HasSubstr("]: is more than a policy may have"));
  EXPECT_FALSE(Passes("team/web", "team/db"));
}

TEST_F(MalformedPolicyTest, APodSelectorBeyondTheBudgetIsolatesTheNamespace) {
  json spec = {{"policyTypes", {"Ingress", "Egress"}}, {"ingress", {json::object()}}};
  for (size_t i = 0; i < 3000; ++i)
    spec["podSelector"]["matchLabels"]["a-label-that-no-pod-of-this-test-has" + std::to_string(i)] =
        "a-value-that-no-pod-has";
  EXPECT_EQ(SetSpec(spec), "$.spec.podSelector: is more than a policy may have");
  ExpectIsolated("team/web");
}

}  // namespace
}  // namespace kuryr::policy
