// A plan on a KuryrPort and the finalizer of its pod are sent at the same time: what is there when
// one of the requests fails, or the controller is killed between them.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/controller/leading_fixture.h"

namespace kuryr::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class HeldPlanTest : public LeadingTest {
 protected:
  HeldPlanTest() { holds_ports_ = false; }

  /// Answers the next requests with an error.
  void Refuse(const std::string& verb, const std::string& path, int code, int count = -1) {
    fake::Fault fault = fake::Fault::Status(code, "refused by a test");
    fault.verb = verb;
    fault.path_prefix = path;
    fault.count = count;
    api().Inject(fault);
  }
  /// Leaves the next request without an answer.
  void Silence(const std::string& verb, const std::string& path) {
    api().Inject({.kind = fake::Fault::Kind::kSilence, .verb = verb, .path_prefix = path});
  }
  void WaitUntilHeld() { EXPECT_TRUE(HasFinalizer(cluster_.WaitFor("Pod", "a", HasFinalizer))); }
  void Unhold() { api().Patch("pods", "default", "a", {{"metadata", {{"finalizers", nullptr}}}}); }
  /// What was written of pod a and of KuryrPorts, as METHOD PATH, but for their status.
  std::vector<std::string> Written() {
    std::vector<std::string> writes;
    for (const auto& request : api().Requests()) {
      const bool is_of_port = request.path.starts_with(ports_) && request.method != "PATCH";
      if (request.method != "GET" && (request.path == pod_ || is_of_port))
        writes.push_back(request.method + " " + request.path);
    }
    return writes;
  }

  const std::string pod_ = "/api/v1/namespaces/default/pods/a";
  const std::string ports_ = "/apis/openstack.org/v1/namespaces/default/kuryrports";
};

TEST_F(HeldPlanTest, PlanDoesNotWaitForTheFinalizer) {
  Silence("patch", pod_);
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");

  EXPECT_EQ(VifsOn(WaitForPort("a")).size(), 1U);
}

TEST_F(HeldPlanTest, FinalizerDoesNotWaitForThePlan) {
  Silence("create", ports_);
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");

  WaitUntilHeld();
}

TEST_F(HeldPlanTest, TwoRequestsAreAll) {
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");
  (void)WaitForPort("a");
  WaitUntilHeld();
  cluster_.CreatePod("b");
  (void)WaitForPort("b");

  EXPECT_THAT(Written(), UnorderedElementsAre("PATCH " + pod_, "POST " + ports_, "POST " + ports_));
}

class RefusedFinalizerTest : public HeldPlanTest, public ::testing::WithParamInterface<int> {};

TEST_P(RefusedFinalizerTest, PlanStaysAndIsHeldNext) {
  Refuse("patch", pod_, GetParam(), 1);
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");

  WaitUntilHeld();

  EXPECT_EQ(VifsOn(WaitForPort("a")).size(), 1U);
  EXPECT_THAT(Written(), UnorderedElementsAre("PATCH " + pod_, "PATCH " + pod_, "POST " + ports_));
}

INSTANTIATE_TEST_SUITE_P(Codes, RefusedFinalizerTest, ::testing::Values(403, 404, 409, 422));

TEST_F(HeldPlanTest, UserIsToldOfAPodThatMayNotBeHeld) {
  Refuse("patch", pod_, 403);
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");

  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrPlanNotWritten"), HasSubstr("refused by a test"));
}

TEST_F(HeldPlanTest, PlanThatIsRefusedLeavesAHeldPodThatGetsItNext) {
  for (const int code : {403, 409, 422}) Refuse("create", ports_, code, 1);
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");

  EXPECT_EQ(VifsOn(WaitForPort("a")).size(), 1U);
  WaitUntilHeld();
  EXPECT_THAT(Written(), Not(Contains(HasSubstr("DELETE"))));
}

TEST_F(HeldPlanTest, NextLeaderHoldsThePodOfAPlanThatStandsAlone) {
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");
  const json port = WaitForPort("a");
  WaitUntilHeld();
  Stop();
  Unhold();

  Start(SinkKind::kKuryrPort);

  WaitUntilHeld();
  EXPECT_EQ(WaitForPort("a"), port);
}

TEST_F(HeldPlanTest, NextLeaderPlansAPodThatIsHeldAlone) {
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");
  (void)WaitForPort("a");
  WaitUntilHeld();
  Stop();
  api().Delete("kuryrports", "default", "a");
  ASSERT_TRUE(cluster_.WaitUntilGone("KuryrPort", "a"));

  Start(SinkKind::kKuryrPort);

  EXPECT_EQ(VifsOn(WaitForPort("a")).size(), 1U);
}

TEST_F(HeldPlanTest, PodThatGoesBeforeItIsHeldLeavesNoPortAndItsAddressIsGivenOnce) {
  Pools(kTwoAddresses);
  Refuse("patch", pod_, 409);
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("b");
  const std::string other = AddressOn(WaitForPort("b"));
  cluster_.CreatePod("a");
  const std::string address = AddressOn(WaitForPort("a"));

  api().Delete("pods", "default", "a");

  EXPECT_TRUE(cluster_.WaitUntilGone("KuryrPort", "a"));
  cluster_.CreatePod("c");
  EXPECT_EQ(AddressOn(WaitForPort("c")), address);
  EXPECT_NE(address, other);
}

}  // namespace
}  // namespace kuryr::test
