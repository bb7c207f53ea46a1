// A set catches up with the server, whatever its watch has told so far.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/watcher/listener.h"
#include "watcher/watcher.h"

namespace kuryr::watcher {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCaughtUpPods = "/api/v1/pods";
/// For a request with a selector, a server does not say how many objects come after a page.
constexpr const char* kPodsOfUnknownNumber = "/api/v1/pods?labelSelector=%21other";
constexpr size_t kTwoPages = 520;

class CatchUpTest : public ::testing::Test {
 protected:
  explicit CatchUpTest(const fake::Pace& pace = {.second = std::chrono::milliseconds(100)})
      : server_(fake::Options{.pace = pace}) {}

  void Create(const std::string& name) {
    server_.Create({{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}});
  }
  void CreatePods(size_t count) {
    for (size_t i = 0; i < count; ++i) Create("p" + std::to_string(i));
  }
  /// Raises the resource version without a change of a pod.
  void CreateKuryrPort() {
    server_.Create({{"apiVersion", "openstack.org/v1"},
                    {"kind", "KuryrPort"},
                    {"metadata", {{"name", "moves-the-version"}}}});
  }
  /// Starts the watcher; it lists, and its watch then tells nothing.
  void StartHeld(const char* path = kCaughtUpPods) {
    server_.Inject({.kind = fake::Fault::Kind::kSilence, .verb = "watch"});
    watcher_.Add(path, WatchMode::kSet);
    watcher_.Start();
    ASSERT_TRUE(server_.WaitForRequest("watch", kCaughtUpPods));
    before_ = server_.Requests().size();
  }
  [[nodiscard]] bool CatchUp() {
    const auto done = std::make_shared<std::promise<void>>();
    auto caught_up = done->get_future();
    watcher_.CatchUp([done] { done->set_value(); });
    return caught_up.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  }
  /// Makes the server answer the next list with a first page that names so many remaining objects.
  /// There is no second page.
  void InjectPage(size_t remaining) {
    const json page = {{"kind", "PodList"},
                       {"apiVersion", "v1"},
                       {"metadata",
                        {{"resourceVersion", std::to_string(server_.resource_version())},
                         {"continue", "none"},
                         {"remainingItemCount", remaining}}},
                       {"items", json::array()}};
    server_.Inject({.verb = "list", .answer = {.body = page.dump()}});
  }
  /// The list requests since StartHeld.
  std::vector<std::string> Lists() {
    std::vector<std::string> lists;
    const auto requests = server_.Requests();
    for (size_t i = before_; i < requests.size(); ++i) {
      if (requests[i].verb == "list") lists.push_back(requests[i].target);
    }
    return lists;
  }

  fake::FakeApiServer server_;
  Listener listener_;
  Watcher watcher_{{.api_root = server_.url(), .fallback_spread = std::chrono::seconds(0)},
                   listener_,
                   listener_.OnFailure()};
  size_t before_ = 0;
};

TEST_F(CatchUpTest, SetOfOneObjectIsReadAnewByItsFirstPage) {
  Create("a");
  StartHeld();
  Create("b");
  server_.Delete("pods", "default", "a");

  ASSERT_TRUE(CatchUp());

  EXPECT_THAT(listener_.WaitFor(3), ElementsAre("ADDED a", "ADDED b", "DELETED a"));
  EXPECT_THAT(Lists(), ElementsAre("/api/v1/pods?limit=1"));
}

TEST_F(CatchUpTest, SetThatHasNotChangedSinceIsNotReadAnew) {
  CreatePods(2);
  StartHeld();

  ASSERT_TRUE(CatchUp());

  EXPECT_THAT(Lists(), ElementsAre("/api/v1/pods?limit=1"));
}

TEST_F(CatchUpTest, SetOfAFewPagesIsReadAnewInOneAnswer) {
  CreatePods(kTwoPages);
  StartHeld();
  Create("last");

  ASSERT_TRUE(CatchUp());

  EXPECT_EQ(listener_.WaitFor(kTwoPages + 1).back(), "ADDED last");
  EXPECT_THAT(Lists(), ElementsAre("/api/v1/pods?limit=1", "/api/v1/pods"));
  EXPECT_EQ(server_.Requests().at(before_ + 1).verb, "list");
}

TEST_F(CatchUpTest, SetWhosePagesBreakOffIsReadAgain) {
  CreatePods(kTwoPages);
  StartHeld(kPodsOfUnknownNumber);
  Create("last");
  InjectPage(5000);

  ASSERT_TRUE(CatchUp());

  EXPECT_TRUE(listener_.Hears("ADDED last"));
}

TEST_F(CatchUpTest, WatchOfALargeSetGoesOnToThePresentVersion) {
  Create("a");
  StartHeld();
  Create("last");
  InjectPage(5001);

  ASSERT_TRUE(CatchUp());

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("ADDED a", "ADDED last"));
  EXPECT_THAT(Lists(), ElementsAre("/api/v1/pods?limit=1"));
}

TEST_F(CatchUpTest, BookmarkSaysThatThereIsNothingMore) {
  CreatePods(kTwoPages);
  StartHeld(kPodsOfUnknownNumber);
  CreateKuryrPort();

  ASSERT_TRUE(CatchUp());

  EXPECT_EQ(Lists().size(), 1U);
}

TEST_F(CatchUpTest, VersionThatIsGoneIsFollowedByAWholeList) {
  CreatePods(kTwoPages);
  StartHeld(kPodsOfUnknownNumber);
  Create("last");
  server_.Compact();

  ASSERT_TRUE(CatchUp());

  EXPECT_EQ(listener_.WaitFor(kTwoPages + 1).back(), "ADDED last");
  EXPECT_EQ(Lists().size(), 3U);
}

TEST_F(CatchUpTest, WatchGoesOnAfterwards) {
  CreatePods(kTwoPages);
  StartHeld(kPodsOfUnknownNumber);
  Create("before");
  ASSERT_TRUE(CatchUp());

  Create("after");

  EXPECT_TRUE(listener_.Hears("ADDED after"));
  EXPECT_EQ(Lists().size(), 1U);
}

TEST_F(CatchUpTest, ServerThatIsAwayIsCaughtUpWithWhenItIsBack) {
  CreatePods(kTwoPages);
  StartHeld(kPodsOfUnknownNumber);
  Create("last");
  server_.StopListening(std::chrono::milliseconds(1000));

  ASSERT_TRUE(CatchUp());

  EXPECT_EQ(listener_.WaitFor(kTwoPages + 2).back(), "ADDED last");
}

TEST_F(CatchUpTest, InterruptedWatchIsNoFailure) {
  Create("a");
  StartHeld();
  ASSERT_TRUE(CatchUp());

  ASSERT_TRUE(server_.WaitForWatches(1));

  EXPECT_THAT(listener_.WaitFor(1), ElementsAre("ADDED a"));
  const WatchMetrics metrics = watcher_.Metrics().at(kCaughtUpPods);
  EXPECT_THAT(metrics.reconnects, ::testing::Each(0U));
}

TEST_F(CatchUpTest, ResourceThatIsNotThereIsCaughtUpWith) {
  watcher_.Add("/apis/k8s.cni.cncf.io/v1alpha1/ipamclaims", WatchMode::kOptionalSet);
  watcher_.Start();
  ASSERT_TRUE(server_.WaitForRequest("", "/apis/k8s.cni.cncf.io"));

  EXPECT_TRUE(CatchUp());
  EXPECT_TRUE(CatchUp());
}

TEST_F(CatchUpTest, LaterCallTakesThePlaceOfOneThatIsNotDone) {
  Create("a");
  StartHeld();
  server_.StopListening();
  std::atomic<bool> first_done = false;
  watcher_.CatchUp([&] { first_done = true; });
  const auto done = std::make_shared<std::promise<void>>();
  watcher_.CatchUp([done] { done->set_value(); });
  server_.StartListening();

  EXPECT_EQ(done->get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  watcher_.Stop();
  EXPECT_FALSE(first_done);
}

class CatchUpWithoutBookmarkTest : public CatchUpTest {
 protected:
  CatchUpWithoutBookmarkTest()
      : CatchUpTest({.second = std::chrono::milliseconds(100), .bookmark_before_end = -1}) {}
};

TEST_F(CatchUpWithoutBookmarkTest, EndBelowThePresentVersionIsFollowedByAWholeList) {
  CreatePods(kTwoPages);
  StartHeld(kPodsOfUnknownNumber);
  CreateKuryrPort();

  ASSERT_TRUE(CatchUp());

  EXPECT_EQ(Lists().size(), 3U);
}

}  // namespace
}  // namespace kuryr::watcher
