#include "policy/admin_policy.h"

#include <gmock/gmock.h>

#include "policy_fixture.h"

namespace kuryr::policy {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const json kAllPods = {{"namespaces", json::object()}};

json Rule(const char* action) { return {{"action", action}, {"from", {kAllPods}}}; }

NetworkPolicy Decode(const json& spec, const AdminKind& kind = kAdminPolicy) {
  return DecodeAdminPolicy({{"spec", spec}}, kind);
}

/// The policy whose only rule is for what pods receive.
NetworkPolicy DecodeRule(const json& rule, const AdminKind& kind = kAdminPolicy) {
  return Decode({{"priority", 1}, {"subject", kAllPods}, {"ingress", {rule}}}, kind);
}

void ExpectDenial(const NetworkPolicyRule& rule) {
  EXPECT_EQ(rule.action, PolicyAction::kDeny);
  EXPECT_TRUE(rule.any_peer && rule.any_port);
}

TEST(AdminPolicyTest, AllowThatIsNotUnderstoodAllowsNothing) {
  json rule = Rule("Allow");
  rule["from"].push_back({{"nodes", json::object()}});

  const NetworkPolicy policy = DecodeRule(rule);

  EXPECT_THAT(policy.rules, IsEmpty());
  EXPECT_THAT(policy.problem, HasSubstr("$.spec.ingress[0].from[1]"));
}

TEST(AdminPolicyTest, OtherRulesThatAreNotUnderstoodDenyAll) {
  for (const char* action : {"Deny", "Pass", "Log"}) {
    json rule = Rule(action);
    rule["until"] = "tomorrow";

    const NetworkPolicy policy = DecodeRule(rule);

    ASSERT_THAT(policy.rules, SizeIs(1));
    ExpectDenial(policy.rules[0]);
    EXPECT_THAT(policy.problem, HasSubstr("$.spec.ingress[0]"));
  }
}

TEST(AdminPolicyTest, BaselineHasNoPass) {
  ExpectDenial(DecodeRule(Rule("Pass"), kBaselinePolicy).rules.at(0));
  EXPECT_EQ(DecodeRule(Rule("Pass")).rules.at(0).action, PolicyAction::kPass);
}

TEST(AdminPolicyTest, RuleWithoutPeersIsNotUnderstood) {
  ExpectDenial(DecodeRule({{"action", "Deny"}, {"from", json::array()}}).rules.at(0));
  ExpectDenial(DecodeRule({{"action", "Deny"}}).rules.at(0));
}

TEST(AdminPolicyTest, IngressHasNoNetworks) {
  ExpectDenial(
      DecodeRule({{"action", "Deny"}, {"from", {{{"networks", {"10.0.0.0/8"}}}}}}).rules.at(0));
}

TEST(AdminPolicyTest, PolicyThatIsNotUnderstoodAllowsNothing) {
  const json rules = {Rule("Allow"), Rule("Pass"), Rule("Deny")};
  const std::vector<json> specs = {
      {{"priority", 1}, {"subject", {{"hosts", json::object()}}}, {"ingress", rules}},
      {{"priority", "high"}, {"subject", kAllPods}, {"ingress", rules}},
      {{"priority", 1}, {"subject", kAllPods}, {"ingress", rules}, {"mode", "soft"}}};
  for (const json& spec : specs) {
    const NetworkPolicy policy = Decode(spec);

    EXPECT_FALSE(policy.problem.empty());
    ASSERT_THAT(policy.rules, SizeIs(2)) << spec;
    EXPECT_EQ(policy.rules[0].action, PolicyAction::kDeny);
    EXPECT_EQ(policy.rules[1].action, PolicyAction::kDeny);
    EXPECT_TRUE(policy.namespaces.value().Matches({}));
  }
  EXPECT_LT(Decode(specs[1]).priority, 0);
}

TEST(AdminPolicyTest, PortsOfAllKinds) {
  json rule = Rule("Allow");
  rule["ports"] = {{{"portNumber", {{"protocol", "UDP"}, {"port", 53}}}},
                   {{"portRange", {{"start", 80}, {"end", 90}}}},
                   {{"namedPort", "http"}}};

  const NetworkPolicyRule decoded = DecodeRule(rule).rules.at(0);

  EXPECT_EQ(decoded.ports, (std::vector<PortRange>{{"tcp", 80, 90}, {"udp", 53, 53}}));
  EXPECT_EQ(decoded.named_ports,
            (std::vector<PortName>{{"sctp", "http"}, {"tcp", "http"}, {"udp", "http"}}));
}

class AdminPolicyOfPodsTest : public PolicyTest {
 protected:
  /// Denies a port by its name, behind so many numbers that no rule can name them all.
  void DenyManyNumbers() {
    for (int i = 0; i < 60'000; i += 4) {
      AddPod(
          "team/many-" + std::to_string(i), {{"app", "many"}},
          {{.name = {.protocol = "tcp", .name = "http"}, .number = static_cast<uint16_t>(i + 1)}});
    }
    const json rule = {
        {"action", "Deny"}, {"from", {kAllPods}}, {"ports", {{{"namedPort", "http"}}}}};
    cluster_.Apply(compiler_.SetAdminPolicy(
        kAdminPolicy, "deny",
        {{"spec", {{"priority", 1}, {"subject", kAllPods}, {"ingress", {rule}}}}}));
  }
};

TEST_F(AdminPolicyOfPodsTest, MoreNumbersThanARuleCanHaveAreDeniedAll) {
  DenyManyNumbers();

  const CompiledPolicy& policy = cluster_.policy("AdminNetworkPolicy/deny");
  EXPECT_TRUE(policy.rules.back().any_port);
  EXPECT_EQ(policy.rules.back().action, PolicyAction::kDeny);
  EXPECT_THAT(cluster_.ErrorOf("AdminNetworkPolicy/deny"), HasSubstr("named ports"));
}

}  // namespace
}  // namespace kuryr::policy
