#include "cni/agent/policy/node_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "binding/netlink/nft_events.h"
#include "tests/cni/agent/agent_fixture.h"

// What kuryr-daemon makes of NetworkPolicies, in the kernel of its node.

namespace kuryr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NodePoliciesTest : public AgentTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    AddBridge();
    api_->Create(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}});
  }
  /// `watches`: with a pod of a routed pool also that of policies.
  void StartEnforcing(size_t watches = 2) {
    StartAgentWith("[node_network]\nenabled = true\n[cni_daemon]\nvif_annotation_timeout = 5\n", "",
                   watches);
  }
  /// The chosen pods of the namespace receive nothing.
  void Deny(const json& pods = json::object()) {
    api_->Create({{"apiVersion", "networking.k8s.io/v1"},
                  {"kind", "NetworkPolicy"},
                  {"metadata", {{"name", "deny"}, {"namespace", "default"}}},
                  {"spec", {{"podSelector", pods}}}});
  }
  TestPod Plug(const std::string& name) {
    TestPod pod = RoutedPod(name);
    EXPECT_EQ(Run("ADD", pod).status, 0);
    return pod;
  }
  /// Nobody but its owner changes such a table, which ends with him.
  static std::unique_ptr<Process> OwnTable() {
    auto owner = std::make_unique<Process>(Command{
        .argv = {"sh", "-c",
                 "(echo 'add table inet kuryr-policy { flags owner; }'; sleep 60) | nft -i"},
        .input = {},
        .env = {}});
    WaitForTable("flags owner", true);
    return owner;
  }
  static std::string Table() {
    return RunProgram({.argv = {"nft", "list", "table", "inet", binding::kPolicyTable}}).out;
  }
  /// Waits until the table has the text, or has none of it.
  static void WaitForTable(const std::string& text, bool is_there) {
    binding::NftEvents events(binding::kPolicyTable);
    while ((Table().find(text) != std::string::npos) != is_there)
      (void)events.Next(Deadline::After(std::chrono::seconds(30)));
  }
};

TEST_F(NodePoliciesTest, PodThatNoPolicySelectsHasNothingThere) {
  StartEnforcing();

  Plug("a");

  EXPECT_EQ(Table(), "");
}

TEST_F(NodePoliciesTest, PodIsPluggedWhenItsPoliciesAreThere) {
  Deny();
  StartEnforcing();

  const TestPod pod = Plug("a");

  EXPECT_THAT(Table(),
              AllOf(HasSubstr(pod.ip + " : jump received-"), HasSubstr(pod.ip6 + " : jump")));
}

TEST_F(NodePoliciesTest, AddressesOfAPodThatIsGoneStayClosedWhileThereArePolicies) {
  Deny();
  StartEnforcing();
  const TestPod pod = Plug("a");

  EXPECT_EQ(Run("DEL", pod).status, 0);

  WaitForTable(pod.ip + " : jump sent-", true);
  api_->Delete("networkpolicies", "default", "deny");
  WaitForTable(pod.ip, false);
}

TEST_F(NodePoliciesTest, PolicyOfARunningPodComesAndGoes) {
  StartEnforcing();
  const TestPod pod = Plug("a");

  Deny();

  WaitForTable(pod.ip + " : jump", true);
  api_->Delete("networkpolicies", "default", "deny");
  WaitForTable(pod.ip, false);
}

TEST_F(NodePoliciesTest, RulesStayWithoutAnAgentAndTheNextOneChangesThem) {
  Deny();
  StartEnforcing();
  const TestPod pod = Plug("a");

  StopAgent(SIGKILL);

  EXPECT_THAT(Table(), HasSubstr(pod.ip + " : jump"));
  api_->Delete("networkpolicies", "default", "deny");
  StartEnforcing(3);
  WaitForTable(pod.ip, false);
}

TEST_F(NodePoliciesTest, FlushedRulesAreMadeAnew) {
  Deny();
  StartEnforcing();
  const TestPod pod = Plug("a");

  RunOnHost({"nft", "flush", "ruleset"});

  WaitFor("the rules of the policies were changed");
  WaitForTable(pod.ip + " : jump", true);
}

TEST_F(NodePoliciesTest, PodIsNotPluggedBeforeItsLabelsAreHeardOf) {
  Deny();
  StartEnforcing();
  Plug("a");
  // Only the agent's watch of its own node's pods goes on.
  api_->Inject({.kind = fake::Fault::Kind::kSilence,
                .verb = "watch",
                .path_prefix = "/api/v1/pods",
                .unless_query = "fieldSelector",
                .count = -1});
  api_->DropWatches();
  const TestPod pod = RoutedPod("b");

  const json error = json::parse(Run("ADD", pod).out);

  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(error.dump(), HasSubstr("policies of pod default/b are not in effect"));
  ThawWatches();
  EXPECT_EQ(Run("ADD", pod).status, 0);
  EXPECT_THAT(Table(), HasSubstr(pod.ip + " : jump"));
}

TEST_F(NodePoliciesTest, StaticPodHasThePoliciesOfItsMirror) {
  Deny();
  StartEnforcing();
  TestPod pod = MakePod("static-node1");
  api_->Delete("pods", "default", pod.name);
  pod.uid = kStaticUid;
  MakeMirrorOf(pod, RoutedVif(pod));

  ASSERT_EQ(Run("ADD", pod).status, 0);

  EXPECT_THAT(Table(), HasSubstr(pod.ip + " : jump received-"));
  ASSERT_EQ(Run("DEL", pod).status, 0);
  WaitForTable(pod.ip + " : jump sent-", true);
}

TEST_F(NodePoliciesTest, RefusalOfTheKernelIsToldAndTriedAgain) {
  Deny();
  StartEnforcing();
  auto owner = OwnTable();
  const TestPod pod = RoutedPod("a");

  const json error = json::parse(Run("ADD", pod).out);

  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(error.dump(), AllOf(HasSubstr("change the policies' rules of nftables"),
                                  HasSubstr("Operation not permitted")));
  EXPECT_THAT(Metrics(), AllOf(HasSubstr("kuryr_daemon_policies_in_effect 0\n"),
                               Not(HasSubstr("kuryr_daemon_policy_failures_total 0\n"))));
  WaitFor("the policies are not in effect");
  owner.reset();
  EXPECT_EQ(Run("ADD", pod).status, 0);
  EXPECT_THAT(Table(), HasSubstr(pod.ip + " : jump"));
  EXPECT_THAT(Metrics(), HasSubstr("kuryr_daemon_policies_in_effect 1\n"));
}

TEST_F(NodePoliciesTest, PodThatNoPolicyNamesWaitsForNoChangeOfOthersRules) {
  Deny({{"matchLabels", {{"app", "db"}}}});
  StartEnforcing();
  Plug("a");
  const auto owner = OwnTable();
  const TestPod named = RoutedPod("b");
  api_->Patch("pods", "default", "b", {{"metadata", {{"labels", {{"app", "db"}}}}}});
  EXPECT_EQ(json::parse(Run("ADD", named).out)["code"], 11);

  Plug("c");

  EXPECT_THAT(Metrics(), HasSubstr("kuryr_daemon_policies_in_effect 0\n"));
}

TEST_F(NodePoliciesTest, AddSaysWhyPoliciesAreNotKnown) {
  fake::Fault forbidden = fake::Fault::Status(403, "forbidden");
  forbidden.verb = "list";
  forbidden.path_prefix = "/apis/networking.k8s.io/v1/networkpolicies";
  forbidden.count = -1;
  api_->Inject(forbidden);
  StartEnforcing();

  const json error = json::parse(Run("ADD", RoutedPod("a")).out);

  EXPECT_EQ(error["code"], 11);
  EXPECT_THAT(error.dump(), AllOf(HasSubstr("policies of pod default/a"), HasSubstr("rbac.yaml")));
}

}  // namespace
}  // namespace kuryr::test
