#include <chrono>
#include <thread>
#include <utility>

#include "tests/controller/leading_fixture.h"

// What one leader leaves to the next, and how one ends.

namespace kuryr::test {
namespace {

class LeadersTest : public LeadingTest {};

TEST_F(LeadersTest, AnotherSinkThanTheFormerLeadersTakesItsKuryrPortsAway) {
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");
  (void)WaitForPort("a");
  Stop();
  Start();

  SetStatus("a", {{"phase", "Succeeded"}});

  EXPECT_TRUE(cluster_.WaitUntilGone("KuryrPort", "a"));
  (void)cluster_.WaitFor("Pod", "a", [](const json& pod) { return !HasFinalizer(pod); });
}

TEST_F(LeadersTest, NextLeaderKeepsWhatWasGiven) {
  Pools(kTwoAddresses);
  Start();
  cluster_.CreatePod("a");
  const json before = cluster_.WaitForPlan("a");

  Restart();
  cluster_.CreatePod("b");

  EXPECT_NE(AddressOn(cluster_.WaitForPlan("b")), AddressOn(before));
  EXPECT_EQ(api().Get("pods", "default", "a")->at("metadata").at("resourceVersion"),
            before.at("metadata").at("resourceVersion"));
}

TEST_F(LeadersTest, FormerLeaderThatEndsWhileTheNextOneCatchesUpDoesNotStopIt) {
  Start();
  const auto former = std::exchange(leading_, nullptr);
  Start();

  former->Stop();
  cluster_.CreatePod("a");

  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("a")));
}

TEST_F(LeadersTest, FormerLeaderThatEndsAfterTheNextOneHasBegunDoesNotStopIt) {
  Start();
  cluster_.CreatePod("a");
  (void)cluster_.WaitForPlan("a");
  const auto former = std::exchange(leading_, nullptr);
  Start();
  SetStatus("a", {{"phase", "Succeeded"}});
  (void)cluster_.WaitForRelease("a");
  while (leading_->WhyNotReady()) std::this_thread::yield();

  former->Stop();
  cluster_.CreatePod("b");

  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("b")));
}

TEST_F(LeadersTest, PodsThatWentWhileNobodyLedAreReleased) {
  Pools(kTwoAddresses);
  Start();
  for (const char* name : {"a", "b"}) {
    cluster_.CreatePod(name);
    (void)cluster_.WaitForPlan(name);
  }
  Stop();
  api().Delete("pods", "default", "a");

  Start();
  cluster_.CreatePod("c");

  EXPECT_TRUE(cluster_.WaitUntilGone("Pod", "a"));
  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("c")));
}

TEST_F(LeadersTest, WhoLeadsNoMoreWritesNothing) {
  Start();
  cluster_.CreatePod("before");
  (void)cluster_.WaitForPlan("before");
  may_write_ = false;
  cluster_.CreatePod("a");
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (Metrics().find("kuryr_controller_reconcile_retries_total 0\n") != std::string::npos &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  EXPECT_EQ(Writes("/api/v1/namespaces/default/pods/a"), 0U);

  may_write_ = true;

  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("a")));
}

}  // namespace
}  // namespace kuryr::test
