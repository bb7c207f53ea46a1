#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/owners/pod_facts.h"
#include "tests/controller/commands/commands_fixture.h"

// kuryr-controller orphans.

namespace kuryr::test {
namespace {

using controller::SinkKind;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const json kOurs = {{controller::kPlannerAnnotation, controller::kPlanner}};

class OrphansCommandTest : public CommandsTest {
 protected:
  using CommandsTest::CommandsTest;

  size_t Writes() {
    const auto requests = api().Requests();
    return static_cast<size_t>(
        std::count_if(requests.begin(), requests.end(),
                      [](const auto& request) { return request.method != "GET"; }));
  }
  void Complete(const std::string& pod) { PatchPod(pod, {{"status", {{"phase", "Succeeded"}}}}); }
  bool IsThere(const std::string& plural, const std::string& name) {
    return api().Get(plural, "default", name).has_value();
  }
};

TEST_F(OrphansCommandTest, NothingIsLeftOfPodsThatLive) {
  Plan({"a"}, SinkKind::kKuryrPort);
  CreatePort("theirs", "gone", json::object());

  const ProcessResult orphans = Orphans();

  EXPECT_EQ(orphans.status, 0) << orphans.err;
  EXPECT_EQ(orphans.out, "nothing is left\n");
}

TEST_F(OrphansCommandTest, KuryrPortWhosePodIsGoneIsListedThenRemoved) {
  CreatePort("old", "gone", kOurs);
  CreatePort("theirs", "gone", json::object());

  const ProcessResult listed = Orphans();
  const ProcessResult removed = Orphans({"--remove"});

  EXPECT_EQ(listed.status, 1);
  EXPECT_EQ(listed.out,
            "KuryrPort default/old: its pod is gone\n"
            "1 left; kuryr-controller orphans --remove removes them\n");
  EXPECT_EQ(removed.status, 0) << removed.out;
  EXPECT_EQ(removed.out, "removed  KuryrPort default/old: its pod is gone\n1 removed, 0 left\n");
  EXPECT_FALSE(IsThere("kuryrports", "old"));
  EXPECT_TRUE(IsThere("kuryrports", "theirs"));
}

TEST_F(OrphansCommandTest, KuryrPortOfAnOlderPodOfThatNameIsRemovedByItsUid) {
  const json port = CreatePort("a", "older", kOurs);
  cluster_.CreatePod("a", {{"hostNetwork", true}});

  EXPECT_EQ(Orphans({"--remove"}).status, 0);

  EXPECT_FALSE(IsThere("kuryrports", "a"));
  EXPECT_TRUE(IsThere("pods", "a"));
  const auto requests = api().Requests();
  const auto deletion = std::find_if(requests.begin(), requests.end(), [](const auto& request) {
    return request.method == "DELETE";
  });
  ASSERT_NE(deletion, requests.end());
  EXPECT_EQ(json::parse(deletion->body)["preconditions"]["uid"], port["metadata"]["uid"]);
}

TEST_F(OrphansCommandTest, FinalizerOfAPodThatIsDoneIsLeftWhileNobodyLeads) {
  Plan({"a", "b"});
  PatchPod("a", {{"metadata", {{"finalizers", {"example.org/x", controller::kPodFinalizer}}}}});
  Complete("a");

  const ProcessResult listed = Orphans();
  const ProcessResult removed = Orphans({"--remove"});

  EXPECT_EQ(listed.status, 1);
  EXPECT_THAT(listed.out, HasSubstr("finalizer of pod default/a: the pod is done\n1 left"));
  EXPECT_EQ(removed.status, 0) << removed.out;
  const json pod = *api().Get("pods", "default", "a");
  EXPECT_THAT(pod["metadata"]["finalizers"], ElementsAre("example.org/x"));
  EXPECT_FALSE(
      pod["metadata"].value("annotations", json::object()).contains("openstack.org/kuryr-vif"));
  EXPECT_TRUE(HasFinalizer(*api().Get("pods", "default", "b")));
}

TEST_F(OrphansCommandTest, PodThatIsDoneIsTheLeadersWhileOneLeads) {
  Plan({"a"});
  Complete("a");
  SetLease("leader-1", 1);

  EXPECT_EQ(Orphans().out, "nothing is left\n");
}

TEST_F(OrphansCommandTest, FinalizerOfADeletedPodWhoseNodeIsGoneIsLeftWhoeverLeads) {
  SetLease("leader-1", 1);
  Plan({"a", "b"}, SinkKind::kKuryrPort);
  api().Delete("pods", "default", "a", 300);
  EXPECT_EQ(Orphans().status, 0);
  api().Delete("nodes", "", "node1");

  const ProcessResult listed = Orphans();
  const ProcessResult removed = Orphans({"--remove", "--force"});

  EXPECT_THAT(listed.out, HasSubstr("finalizer of pod default/a: node node1 is gone\n1 left"));
  EXPECT_EQ(removed.status, 0) << removed.out;
  EXPECT_FALSE(IsThere("kuryrports", "a"));
  const auto pod = api().Get("pods", "default", "a");
  EXPECT_TRUE(!pod || !HasFinalizer(*pod));
  EXPECT_TRUE(HasFinalizer(*api().Get("pods", "default", "b")));
}

TEST_F(OrphansCommandTest, ForcedPodWhoseNodeIsGoneIsTheLeadersWhileOneLeads) {
  Plan({"a"});
  SetRunning("a");
  api().Delete("pods", "default", "a", 0);
  api().Delete("nodes", "", "node1");
  EXPECT_THAT(Orphans().out, HasSubstr("finalizer of pod default/a: node node1 is gone\n1 left"));

  SetLease("leader-1", 1);

  EXPECT_EQ(Orphans().out, "nothing is left\n");
}

TEST_F(OrphansCommandTest, PlanOfAnotherProducerIsLeftAlone) {
  const json pod = cluster_.CreatePod("a", {}, {{"finalizers", {controller::kPodFinalizer}}});
  CreatePort("a", pod["metadata"]["uid"], json::object());
  Complete("a");

  EXPECT_EQ(Orphans({"--remove"}).out, "0 removed, 0 left\n");

  EXPECT_TRUE(HasFinalizer(*api().Get("pods", "default", "a")));
}

TEST_F(OrphansCommandTest, FinalizerGoesAndTheAnnotationThatSomebodyRewroteStays) {
  cluster_.CreatePod("a", {},
                     {{"finalizers", {controller::kPodFinalizer}},
                      {"annotations", {{"openstack.org/kuryr-vif", "{"}}}});
  Complete("a");

  EXPECT_EQ(Orphans({"--remove"}).status, 0);

  const json pod = *api().Get("pods", "default", "a");
  EXPECT_FALSE(HasFinalizer(pod));
  EXPECT_EQ(pod["metadata"]["annotations"]["openstack.org/kuryr-vif"], "{");
}

TEST_F(OrphansCommandTest, NothingIsRemovedWhileAControllerLeadsUnlessForced) {
  SetLease("leader-1", 1);
  CreatePort("old", "gone", kOurs);

  const ProcessResult refused = Orphans({"--remove"});
  EXPECT_EQ(Writes(), 0U);
  const ProcessResult forced = Orphans({"--remove", "--force"});

  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("leader-1 leads"), HasSubstr("use --force")));
  EXPECT_EQ(forced.status, 0) << forced.err;
  EXPECT_FALSE(IsThere("kuryrports", "old"));
}

TEST_F(OrphansCommandTest, NothingIsRemovedWhereWhoLeadsIsNotKnown) {
  Configure("[controller]\nleader_elect = false\n");

  EXPECT_EQ(Orphans({"--remove"}).status, 2);
}

TEST_F(OrphansCommandTest, FailureIsSaidAndTheNextOneRemoved) {
  Plan({"a", "b"});
  Complete("a");
  Complete("b");
  fake::Fault conflict = fake::Fault::Status(409, "the object has been modified");
  conflict.verb = "patch";
  api().Inject(conflict);

  const ProcessResult removed = Orphans({"--remove"});

  EXPECT_EQ(removed.status, 1);
  EXPECT_THAT(
      removed.out,
      AllOf(HasSubstr("failed   finalizer of pod default/a: the pod is done: "),
            HasSubstr("the object has been modified"),
            HasSubstr("removed  finalizer of pod default/b"), HasSubstr("1 removed, 1 left\n")));
  EXPECT_EQ(Orphans({"--remove"}).status, 0);
}

TEST_F(OrphansCommandTest, ForceAloneIsRefused) {
  EXPECT_THAT(Orphans({"--force"}).err, HasSubstr("--remove"));
}

}  // namespace
}  // namespace kuryr::test
