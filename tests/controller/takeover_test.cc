// A standby takes over: what it knows, and what it asks the API server for.
#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "controller/controller.h"
#include "tests/controller/leading_fixture.h"

namespace kuryr::test {
namespace {

using controller::Informer;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kOneAddress =
    "[pool:one]\ncidr = 10.9.0.0/29\nranges = 10.9.0.2-10.9.0.2\nnamespaces = *\nrest = 0\n";

class TakeoverTest : public LeadingTest {
 protected:
  using LeadingTest::LeadingTest;

  /// Makes a standby that knows the cluster as it is now; its watch of `path` tells it no later
  /// change.
  std::unique_ptr<Informer> HeldStandby(const std::string& path) {
    WaitUntil([this] { return !leading_->WhyNotReady(); });
    // Four watches are the cluster's own, three the leader's.
    EXPECT_TRUE(api().WaitForWatches(7));
    const size_t watches = Count("watch", path);
    api().Inject(
        {.kind = fake::Fault::Kind::kSilence, .verb = "watch", .path_prefix = path, .count = -1});
    auto standby = StartStandby();
    EXPECT_TRUE(api().WaitForRequest("watch", path, watches + 1));
    WaitUntilWarm(*standby);
    return standby;
  }
  std::unique_ptr<Informer> StartStandby() {
    auto standby = std::make_unique<Informer>(config_);
    standby->Start();
    return standby;
  }
  static void WaitUntil(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_TRUE(condition());
  }
  static void WaitUntilWarm(const Informer& standby) {
    WaitUntil([&] { return standby.IsWarm(); });
  }
  void TakeOver(std::unique_ptr<Informer> standby, SinkKind sink = SinkKind::kPodState) {
    Stop();
    informer_ = std::move(standby);
    Start(sink);
  }
  size_t Count(const std::string& verb, const std::string& path) {
    return Targets(verb, path).size();
  }
  std::vector<std::string> Targets(const std::string& verb, const std::string& path) {
    std::vector<std::string> targets;
    for (const auto& request : api().Requests()) {
      if (request.verb == verb && request.path == path) targets.push_back(request.target);
    }
    return targets;
  }
};

TEST_F(TakeoverTest, AddressGivenAMomentAgoIsNotGivenAgain) {
  Pools(kOneAddress);
  Start();
  auto standby = HeldStandby("/api/v1/pods");
  cluster_.CreatePod("a");
  (void)cluster_.WaitForPlan("a");

  Stop();
  cluster_.CreatePod("b");
  TakeOver(std::move(standby));

  EXPECT_THAT(cluster_.WaitForEvent("b", "KuryrNoFreeAddress"), HasSubstr("one"));
  EXPECT_EQ(Writes("/api/v1/namespaces/default/pods/b"), 0U);
}

/// The standby hears of the finalizer of "a", but not of the KuryrPort with its address.
TEST_F(TakeoverTest, AddressOnAKuryrPortMadeAMomentAgoIsNotGivenAgain) {
  Pools(kOneAddress);
  Start(SinkKind::kKuryrPort);
  auto standby = HeldStandby("/apis/openstack.org/v1/kuryrports");
  cluster_.CreatePod("a");
  (void)WaitForPort("a");

  Stop();
  cluster_.CreatePod("b");
  TakeOver(std::move(standby), SinkKind::kKuryrPort);

  EXPECT_THAT(cluster_.WaitForEvent("b", "KuryrNoFreeAddress"), HasSubstr("one"));
  EXPECT_EQ(Writes("/apis/openstack.org/v1/namespaces/default/kuryrports/b"), 0U);
  EXPECT_EQ(Writes("/api/v1/namespaces/default/pods/b"), 0U);
}

TEST_F(TakeoverTest, KuryrPortThatItsPodLeftBehindIsDeletedByTheStandby) {
  Start(SinkKind::kKuryrPort);
  auto standby = HeldStandby("/api/v1/pods");
  cluster_.CreatePod("a");
  (void)WaitForPort("a");
  (void)cluster_.WaitFor("Pod", "a", HasFinalizer);
  Stop();
  api().Patch("pods", "default", "a", {{"metadata", {{"finalizers", nullptr}}}});
  api().Delete("pods", "default", "a");

  TakeOver(std::move(standby), SinkKind::kKuryrPort);

  EXPECT_TRUE(cluster_.WaitUntilGone("KuryrPort", "a"));
}

TEST_F(TakeoverTest, PodsThatAreNotPlannedYetAreWhenTheStandbyLeads) {
  auto standby = StartStandby();
  WaitUntilWarm(*standby);
  cluster_.CreatePod("a");

  TakeOver(std::move(standby));

  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("a")));
}

TEST_F(TakeoverTest, StandbyWritesNothing) {
  Pools(kOneAddress);
  const auto standby = StartStandby();
  for (const char* name : {"a", "b"}) cluster_.CreatePod(name);
  WaitUntilWarm(*standby);
  (void)cluster_.WaitFor("Pod", "b", [](const json& pod) { return pod.is_object(); });

  EXPECT_EQ(Writes("/"), 0U);
}

TEST_F(TakeoverTest, PodsThatTheStandbyKnowsAreNotListedAgainWhenItLeads) {
  for (int i = 0; i < 700; ++i)
    cluster_.CreatePod("host-" + std::to_string(i), {{"hostNetwork", true}});
  auto standby = StartStandby();
  WaitUntilWarm(*standby);
  const size_t before = Count("list", "/api/v1/pods");

  TakeOver(std::move(standby));
  ASSERT_TRUE(api().WaitForRequest("list", "/api/v1/pods", before + 1));
  cluster_.CreatePod("a");

  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("a")));
  std::vector<std::string> lists = Targets("list", "/api/v1/pods");
  lists.erase(lists.begin(), lists.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_THAT(lists, ElementsAre("/api/v1/pods?limit=1"));
}

TEST_F(TakeoverTest, WhoLeadsFromItsStartListsEverythingOnce) {
  for (const char* name : {"a", "b"}) cluster_.CreatePod(name, {{"hostNetwork", true}});

  Start();
  cluster_.CreatePod("c");
  (void)cluster_.WaitForPlan("c");

  std::map<std::string, std::vector<std::string>> lists;
  for (const auto& request : api().Requests()) {
    // Not the cluster's own.
    if (request.verb == "list" && !request.target.ends_with("resourceVersion=0"))
      lists[request.path].push_back(request.target);
  }
  EXPECT_THAT(lists.at("/api/v1/pods"), ElementsAre("/api/v1/pods?limit=1", "/api/v1/pods"));
  EXPECT_GE(lists.size(), 3U);
  // A resource that the server does not have is asked for once.
  for (const auto& [path, targets] : lists) {
    EXPECT_THAT(targets,
                AnyOf(ElementsAre(path + "?limit=1"), ElementsAre(path + "?limit=1", path)));
  }
}

TEST_F(TakeoverTest, FormerLeaderKeepsWhatItKnows) {
  Start();
  cluster_.CreatePod("a");
  const std::string address = AddressOn(cluster_.WaitForPlan("a"));
  Stop();

  EXPECT_TRUE(informer_->IsWarm());
  EXPECT_TRUE(informer_->kinds().pods.Find("default/a").pod->plan.present);
  cluster_.CreatePod("b");
  Start();

  EXPECT_NE(AddressOn(cluster_.WaitForPlan("b")), address);
}

class LeaseTakeoverTest : public TakeoverTest {
 protected:
  LeaseTakeoverTest() : TakeoverTest({.custom_resources = {fake::KuryrPorts(), Leases()}}) {}

  void SetUp() override {
    TakeoverTest::SetUp();
    api().Create({{"kind", "Lease"},
                  {"apiVersion", "coordination.k8s.io/v1"},
                  {"metadata", {{"name", "kuryr-controller"}, {"namespace", "kube-system"}}},
                  {"spec", {{"holderIdentity", "another"}, {"leaseDurationSeconds", 15}}}});
  }
  static bool Tells(const controller::Controller& controller, const std::string& sample) {
    return controller.Metrics().find("\n" + sample) != std::string::npos;
  }

 private:
  static fake::Resource Leases() {
    return {.group = "coordination.k8s.io", .version = "v1", .plural = "leases", .kind = "Lease"};
  }
};

TEST_F(LeaseTakeoverTest, StandbyIsWarmWhileAnotherLeads) {
  controller::Controller standby(config_);
  EXPECT_THAT(standby.Metrics(), HasSubstr("kuryr_controller_synced 0\n"));
  const std::jthread thread([&](const std::stop_token& stop) { standby.Run(stop); });
  WaitUntil([&] { return Tells(standby, "kuryr_controller_synced 1\n"); });

  EXPECT_TRUE(Tells(standby, "kuryr_controller_leader 0\n"));
}

TEST_F(LeaseTakeoverTest, StandbyTellsThatTheLeaseIsHeldUntilItCannotKnow) {
  controller::Controller standby(config_);
  EXPECT_TRUE(Tells(standby, "kuryr_controller_lease_held 0\n"));
  const std::jthread thread([&](const std::stop_token& stop) { standby.Run(stop); });
  WaitUntil([&] { return Tells(standby, "kuryr_controller_lease_held 1\n"); });

  api().Inject(
      {.path_prefix = "/apis/coordination.k8s.io", .count = -1, .answer = {.status = 403}});

  WaitUntil([&] { return Tells(standby, "kuryr_controller_lease_held 0\n"); });
}

TEST_F(LeaseTakeoverTest, WatchesThatAreRefusedAreCountedByReason) {
  api().Inject({.verb = "list",
                .path_prefix = "/apis/openstack.org/v1/kuryrports",
                .count = -1,
                .answer = {.status = 500}});
  controller::Controller standby(config_);
  const std::jthread thread([&](const std::stop_token& stop) { standby.Run(stop); });
  const std::string sample = "kuryr_controller_watch_reconnects_total{resource=\"";

  WaitUntil([&] { return Tells(standby, sample + "kuryrports\",reason=\"refused\"} 2\n"); });

  EXPECT_TRUE(Tells(standby, sample + "pods\",reason=\"refused\"} 0\n"));
  EXPECT_TRUE(Tells(standby, "kuryr_controller_watch_failing_seconds{resource=\"pods\"} 0\n"));
  EXPECT_FALSE(
      Tells(standby, "kuryr_controller_watch_failing_seconds{resource=\"kuryrports\"} 0\n"));
}

}  // namespace
}  // namespace kuryr::test
