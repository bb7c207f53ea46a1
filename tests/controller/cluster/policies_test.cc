#include "controller/cluster/policies.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/controller/bare_backend.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using watcher::EventType;

class Enforcer : public test::BareBackend, public PolicyEnforcer {
 public:
  Facets facets() override { return {.policies = this}; }
  void Enforce(const policy::PolicyChanges& changes) override { told.push_back(changes); }

  std::vector<policy::PolicyChanges> told;
};

class PoliciesTest : public ::testing::Test {
 protected:
  void Tell(EventType type, json object) {
    policies_.Handle(watcher::MakeEvent(type, std::move(object)));
  }
  void TellAll() {
    Tell(EventType::kAdded, namespace_);
    Tell(EventType::kAdded, pod_);
    Tell(EventType::kAdded, policy_);
  }

  /// pod_ by another name, on a node.
  [[nodiscard]] json PodOnNode(const std::string& name) const {
    json pod = pod_;
    pod["metadata"]["name"] = name;
    pod["metadata"]["uid"] = "uid-" + name;
    pod["spec"]["nodeName"] = "node1";
    return pod;
  }
  /// policy_ with a rule of three blocks for two protocols, besides the rest of what it costs.
  void TellOfBlocks() {
    json policy = policy_;
    policy["spec"]["ingress"] = json::parse(R"([{"ports": [{"port": 80}, {"port": 53,
        "protocol": "UDP"}], "from": [{"ipBlock": {"cidr": "10.1.0.0/16"}},
        {"ipBlock": {"cidr": "10.3.0.0/16"}}, {"ipBlock": {"cidr": "10.5.0.0/16"}}]}])");
    Tell(EventType::kAdded, policy);
  }
  std::string ProblemOf(const std::string& policy) { return policies_.Find(policy)->problem; }

  static constexpr uint64_t kWorkOfBlocks = 2 * (1 + 3) + 2;

  std::vector<std::string> woken_;
  Policies policies_{
      {.needs = {.policies = true, .admin_policies = true, .multi_policies = true, .labels = {}},
       .wake = [this](const Key& key) { woken_.push_back(key.ToString()); }}};
  Enforcer enforcer_;
  const json namespace_ = {{"kind", "Namespace"}, {"metadata", {{"name", "team"}}}};
  const json pod_ = json::parse(R"({"kind": "Pod", "metadata": {"namespace": "team", "name": "a",
      "uid": "uid-a", "labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}})");
  const json policy_ = json::parse(R"({"kind": "NetworkPolicy", "metadata": {"namespace": "team",
      "name": "deny"}, "spec": {"podSelector": {"matchLabels": {"app": "web"}}}})");
};

TEST_F(PoliciesTest, EnforcerThatComesIsToldOfAllAtOnce) {
  TellAll();

  policies_.BeginTerm({enforcer_});

  ASSERT_EQ(enforcer_.told.size(), 1U);
  const policy::PolicyChanges& all = enforcer_.told[0];
  ASSERT_THAT(all.policies, ElementsAre(Pair("team/deny", ::testing::_)));
  const policy::CompiledPolicy& compiled = all.policies.at("team/deny").value();
  EXPECT_TRUE(compiled.isolates_ingress);
  EXPECT_THAT(all.pods, ElementsAre(Pair("uid-a", ElementsAre(compiled.subject))));
}

TEST_F(PoliciesTest, WhoeverJoinsOrLeavesASetHasItsRulesReadAgainOnceForAll) {
  TellAll();
  TellOfBlocks();
  (void)policies_.TakeWork();

  for (const char* name : {"b", "c"}) Tell(EventType::kAdded, PodOnNode(name));
  EXPECT_EQ(policies_.TakeWork(), kWorkOfBlocks);
  Tell(EventType::kModified, PodOnNode("b"));
  EXPECT_EQ(policies_.TakeWork(), 0U);
  Tell(EventType::kDeleted, PodOnNode("b"));
  EXPECT_EQ(policies_.TakeWork(), kWorkOfBlocks);
}

TEST_F(PoliciesTest, PodsWithoutPoliciesHaveNothingReadAgain) {
  TellAll();
  TellOfBlocks();
  (void)policies_.TakeWork();
  json other = PodOnNode("b");
  other["metadata"]["labels"]["app"] = "db";
  Tell(EventType::kAdded, other);
  EXPECT_EQ(policies_.TakeWork(), 0U);

  Tell(EventType::kDeleted, policy_);
  (void)policies_.TakeWork();
  Tell(EventType::kAdded, PodOnNode("c"));
  EXPECT_EQ(policies_.TakeWork(), 0U);
}

TEST_F(PoliciesTest, APodHasRulesReadAgainWhenItGetsItsNode) {
  TellAll();
  TellOfBlocks();
  (void)policies_.TakeWork();
  json pod = PodOnNode("b");
  pod["spec"].erase("nodeName");
  Tell(EventType::kAdded, pod);
  EXPECT_EQ(policies_.TakeWork(), 0U);

  Tell(EventType::kModified, PodOnNode("b"));
  EXPECT_EQ(policies_.TakeWork(), kWorkOfBlocks);
}

TEST_F(PoliciesTest, AdminsPoliciesAreToldUnderTheirKinds) {
  policies_.BeginTerm({enforcer_});
  for (const auto& [kind, api_version, plural, tier] : policy::kAdminKinds) {
    json policy = json::parse(R"({"metadata": {"name": "default"}, "spec": {"priority": 5,
        "subject": {"namespaces": {}}, "ingress": [{"action": "Log", "from": []}]}})");
    policy["kind"] = kind;
    if (kind == policy::kClusterPolicy.kind) policy["spec"]["tier"] = "Admin";
    Tell(EventType::kAdded, policy);
    const std::string name = std::string(kind) + "/default";
    ASSERT_TRUE(enforcer_.told.back().policies.at(name).has_value());
    EXPECT_THAT(ProblemOf(name), HasSubstr("$.spec.ingress[0].action"));

    Tell(EventType::kDeleted, policy);
    EXPECT_EQ(enforcer_.told.back().policies.at(name), std::nullopt);
  }
}

TEST_F(PoliciesTest, DefinitionThatGoesTellsOfThePolicyThatNamesIt) {
  const json definition = json::parse(R"({"kind": "NetworkAttachmentDefinition",
      "metadata": {"namespace": "team", "name": "storage",
                   "annotations": {"openstack.org/kuryr-config": "{\"pool\": \"san\"}"}}})");
  const json policy =
      json::parse(R"({"kind": "MultiNetworkPolicy", "metadata": {"namespace": "team",
      "name": "p", "annotations": {"k8s.v1.cni.cncf.io/policy-for": "storage"}},
      "spec": {"podSelector": {}}})");
  policies_.BeginTerm({enforcer_});
  TellAll();
  Tell(EventType::kAdded, definition);
  Tell(EventType::kAdded, policy);
  woken_.clear();
  EXPECT_THAT(enforcer_.told.back().pods, ElementsAre(Pair("uid-a@san", ::testing::SizeIs(1))));

  Tell(EventType::kDeleted, definition);

  EXPECT_THAT(woken_, ElementsAre("networkpolicy:MultiNetworkPolicy/team/p"));
  EXPECT_THAT(ProblemOf("MultiNetworkPolicy/team/p"), HasSubstr("team/storage"));
  EXPECT_THAT(enforcer_.told.back().pods,
              ElementsAre(Pair("uid-a@*", ::testing::SizeIs(1)), Pair("uid-a@san", IsEmpty())));

  Tell(EventType::kDeleted, policy);
  EXPECT_EQ(enforcer_.told.back().policies.at("MultiNetworkPolicy/team/p"), std::nullopt);
}

TEST_F(PoliciesTest, EachChangeIsTold) {
  policies_.BeginTerm({enforcer_});
  TellAll();
  json moved = pod_;
  moved["metadata"]["labels"]["app"] = "other";
  enforcer_.told.clear();

  Tell(EventType::kModified, moved);
  Tell(EventType::kDeleted, policy_);

  ASSERT_EQ(enforcer_.told.size(), 2U);
  EXPECT_THAT(enforcer_.told[0].pods, ElementsAre(Pair("uid-a", IsEmpty())));
  EXPECT_EQ(enforcer_.told[1].policies.at("team/deny"), std::nullopt);
}

TEST_F(PoliciesTest, EventThatChangesNothingIsNotTold) {
  policies_.BeginTerm({enforcer_});
  TellAll();
  enforcer_.told.clear();
  json same = pod_;
  same["status"] = {{"phase", "Running"}};

  Tell(EventType::kModified, same);

  EXPECT_THAT(enforcer_.told, IsEmpty());
}

TEST_F(PoliciesTest, EnforcerThatWentIsToldNothing) {
  policies_.BeginTerm({enforcer_});
  policies_.EndTerm();
  enforcer_.told.clear();

  TellAll();

  EXPECT_THAT(enforcer_.told, IsEmpty());
}

TEST_F(PoliciesTest, WhatIsGoneIsNotToldToTheNext) {
  TellAll();
  Tell(EventType::kDeleted, policy_);
  Tell(EventType::kDeleted, pod_);

  policies_.BeginTerm({enforcer_});

  EXPECT_THAT(enforcer_.told.at(0), policy::PolicyChanges());
}

TEST_F(PoliciesTest, FieldThatIsNotUnderstoodIsNamedUntilItIsMended) {
  json wrong = policy_;
  wrong["spec"]["ingress"] = {{{"ports", {{{"protocol", "ICMP"}}}}}};

  Tell(EventType::kAdded, wrong);
  EXPECT_THAT(ProblemOf("team/deny"), HasSubstr("$.spec.ingress[0].ports[0].protocol"));

  Tell(EventType::kModified, policy_);
  EXPECT_EQ(ProblemOf("team/deny"), "");
}

}  // namespace
}  // namespace kuryr::controller
