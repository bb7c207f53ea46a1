#include <gmock/gmock.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/controller/bare_backend.h"
#include "tests/controller/leading_fixture.h"
#include "tests/controller/multi_network.h"

namespace kuryr::test {
namespace {

using ::testing::HasSubstr;

/// Refuses a part of each policy that it is told of, and has no VIFs.
class RefusingBackend final : public BareBackend, public controller::PolicyEnforcer {
 public:
  explicit RefusingBackend(controller::BackendHooks hooks) : hooks_(std::move(hooks)) {}

  controller::Facets facets() override { return {.policies = this}; }
  void Enforce(const policy::PolicyChanges& changes) override {
    for (const auto& [name, policy] : changes.policies) hooks_.wake_policy(name);
  }
  std::optional<std::string> FindRefusal(const std::string& name) const override {
    return "there is no room for " + name;
  }

 private:
  const controller::BackendHooks hooks_;
};

class RefusingFactory final : public controller::BackendFactory {
 public:
  const char* name() const noexcept override { return "refusing"; }
  controller::BackendNeeds needs() const override {
    return {.policies = true, .admin_policies = true, .multi_policies = true, .labels = {}};
  }
  void Warn() const override {}
  std::shared_ptr<controller::Backend> Make(const controller::BackendHooks& hooks) const override {
    return std::make_shared<RefusingBackend>(hooks);
  }
};

class RefusedPolicyTest : public LeadingTest {
 protected:
  RefusedPolicyTest() : LeadingTest({.custom_resources = Kinds()}) {}

  static std::vector<fake::Resource> Kinds() {
    std::vector<fake::Resource> kinds = MultiNetworkKinds();
    const auto add = [&](const char* version, const char* plural, const char* kind) {
      kinds.push_back({.group = "policy.networking.k8s.io",
                       .version = version,
                       .plural = plural,
                       .kind = kind,
                       .namespaced = false,
                       .custom = true});
    };
    add("v1alpha1", "adminnetworkpolicies", "AdminNetworkPolicy");
    add("v1alpha2", "clusternetworkpolicies", "ClusterNetworkPolicy");
    return kinds;
  }

  void SetUp() override {
    LeadingTest::SetUp();
    config_.backend = std::make_shared<RefusingFactory>();
    Start();
  }
  void CreatePolicy(const std::string& name, const std::string& name_space = "default") {
    api().Create({{"kind", "NetworkPolicy"},
                  {"apiVersion", "networking.k8s.io/v1"},
                  {"metadata", {{"name", name}, {"namespace", name_space}}}});
  }
  /// Changes the labels of a pod of namespace default until its changes wait.
  void Storm() {
    cluster_.CreatePod("storm");
    const std::string none = "\nkuryr_controller_changes_kept_total 0\n";
    for (int i = 0; Metrics().find(none) != std::string::npos; ++i)
      api().Patch("pods", "default", "storm",
                  {{"metadata", {{"labels", {{"number", std::to_string(i)}}}}}});
  }
};

TEST_F(RefusedPolicyTest, NextLeaderKnowsWhatWaited) {
  Storm();
  CreatePolicy("late");
  Restart();

  EXPECT_THAT(cluster_.WaitForEvent("late", "KuryrPolicyRefused"), HasSubstr("default/late"));
}

TEST_F(RefusedPolicyTest, UserOfThePolicyIsToldWhy) {
  CreatePolicy("deny");

  EXPECT_THAT(cluster_.WaitForEvent("deny", "KuryrPolicyRefused"),
              HasSubstr("not all of it is enforced yet: there is no room for default/deny"));
}

TEST_F(RefusedPolicyTest, AdminIsToldWhy) {
  api().Create({{"kind", "AdminNetworkPolicy"},
                {"apiVersion", "policy.networking.k8s.io/v1alpha1"},
                {"metadata", {{"name", "first"}}},
                {"spec", {{"priority", 1}, {"subject", {{"hosts", "all"}}}}}});

  EXPECT_THAT(cluster_.WaitForEvent("first", "KuryrPolicyRefused"),
              HasSubstr("there is no room for AdminNetworkPolicy/first"));
  EXPECT_THAT(cluster_.WaitForEvent("first", "KuryrPolicyNotUnderstood"),
              HasSubstr("$.spec.subject"));
}

TEST_F(RefusedPolicyTest, AdminIsToldThatDomainNamesAreNotSupported) {
  api().Create(nlohmann::json::parse(R"({"kind": "ClusterNetworkPolicy",
      "apiVersion": "policy.networking.k8s.io/v1alpha2", "metadata": {"name": "names"},
      "spec": {"tier": "Admin", "priority": 1, "subject": {"namespaces": {}}, "egress": [
          {"action": "Accept", "to": [{"domainNames": ["example.org"]}]}]}})"));

  EXPECT_THAT(cluster_.WaitForEvent("names", "KuryrPolicyNotUnderstood"),
              HasSubstr("$.spec.egress[0].to[0].domainNames: is not supported"));
}

TEST_F(RefusedPolicyTest, UserOfAMultiNetworkPolicyIsToldOfADefinitionThatDoesNotExist) {
  api().Create(MultiPolicyOf("san", "storage", {{"podSelector", nlohmann::json::object()}}));

  EXPECT_THAT(cluster_.WaitForEvent("san", "KuryrPolicyNotUnderstood"),
              HasSubstr("['k8s.v1.cni.cncf.io/policy-for']: names NetworkAttachmentDefinition "
                        "default/storage, which does not exist"));
}

TEST_F(RefusedPolicyTest, UserOfAMultiNetworkPolicyIsToldOfADefinitionThatGoes) {
  api().Create(DefinitionOf("storage", "san"));
  api().Create(MultiPolicyOf("san", "storage", {{"podSelector", nlohmann::json::object()}}));
  EXPECT_THAT(cluster_.WaitForEvent("san", "KuryrPolicyRefused"),
              HasSubstr("MultiNetworkPolicy/default/san"));

  api().Delete("network-attachment-definitions", "default", "storage");

  EXPECT_THAT(cluster_.WaitForEvent("san", "KuryrPolicyNotUnderstood"),
              HasSubstr("default/storage"));
}

/// Backend local.
class UnenforcedPolicyTest : public LeadingTest {
 protected:
  UnenforcedPolicyTest() : LeadingTest({.custom_resources = MultiNetworkKinds()}) {}
};

TEST_F(UnenforcedPolicyTest, UserOfAMultiNetworkPolicyIsToldThatNothingEnforcesIt) {
  Start();
  api().Create(MultiPolicyOf("san", "storage", {{"podSelector", nlohmann::json::object()}}));

  EXPECT_THAT(cluster_.WaitForEvent("san", "KuryrPolicyNotEnforced"),
              HasSubstr("enforces no policy of this kind"));
  EXPECT_THAT(Metrics(), HasSubstr("kuryr_controller_policies_not_enforced 1\n"));
}

}  // namespace
}  // namespace kuryr::test
