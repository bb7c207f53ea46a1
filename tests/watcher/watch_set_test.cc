#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/watcher/listener.h"
#include "watcher/watcher.h"

namespace kuryr::watcher {
namespace {

using fake::FakeApiServer;
using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNamespacesPath = "/api/v1/namespaces";
constexpr const char* kPodsPath = "/api/v1/pods";

json Pod(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}};
}

json Label(const std::string& value) { return {{"metadata", {{"labels", {{"a", value}}}}}}; }

json Nested(int levels) {
  json nested = json::object();
  for (int i = 0; i < levels; ++i) {
    json outer = json::object();
    outer["f"] = std::move(nested);
    nested = std::move(outer);
  }
  return nested;
}

class WatchSetTest : public ::testing::Test {
 protected:
  void Start(std::chrono::seconds patience = std::chrono::seconds(30)) {
    watcher_.Add(kPodsPath, WatchMode::kSet);
    watcher_.Start();
    ASSERT_TRUE(server_.WaitForWatches(1, patience));
  }
  WatchMetrics Metrics() { return watcher_.Metrics().at(kPodsPath); }
  uint64_t Reconnects(ReconnectReason reason) {
    return Metrics().reconnects[static_cast<size_t>(reason)];
  }
  std::vector<std::string> Queries(const std::string& verb) {
    std::vector<std::string> queries;
    for (const auto& request : server_.Requests()) {
      if (request.verb == verb) queries.push_back(request.target);
    }
    return queries;
  }

  FakeApiServer server_{fake::Options{.tls = fake::TestTls()}};
  Listener listener_;
  Watcher watcher_{{.api_root = server_.url(),
                    .ca = {.file = FakeApiServer::ca_file()},
                    .fallback_spread = std::chrono::seconds(0)},
                   listener_,
                   listener_.OnFailure()};
};

TEST_F(WatchSetTest, TheListComesFirstThenEveryChangeFromThereOn) {
  server_.Create(Pod("a"));
  server_.Create(Pod("b"));
  Start();

  server_.Create(Pod("c"));
  server_.Patch("pods", "default", "a", Label("x"));
  server_.Delete("pods", "default", "b");

  EXPECT_THAT(listener_.WaitFor(6), ElementsAre("ADDED a", "ADDED b", "ADDED c", "MODIFIED a",
                                                "MODIFIED b", "DELETED b"));
  EXPECT_THAT(Queries("list"), ElementsAre(HasSubstr("resourceVersion=0")));
  EXPECT_THAT(Queries("watch"),
              ElementsAre(AllOf(HasSubstr("resourceVersion="), HasSubstr("timeoutSeconds="),
                                HasSubstr("allowWatchBookmarks=true"))));
}

TEST_F(WatchSetTest, AListOfManyPagesIsReadToItsEnd) {
  constexpr size_t kMany = 1203;
  for (size_t i = 0; i < kMany; ++i) server_.Create(Pod("p" + std::to_string(i)));
  Start();

  EXPECT_EQ(listener_.WaitFor(kMany).size(), kMany);
  EXPECT_EQ(Queries("list").size(), 3U);
  EXPECT_EQ(Metrics().lists, 1U);
}

TEST_F(WatchSetTest, AVersionThatIsGoneIsListedWithoutVersion) {
  for (size_t i = 0; i < 700; ++i) server_.Create(Pod("p" + std::to_string(i)));
  fake::Fault expired =
      fake::Fault::Status(410, "The resourceVersion for the provided list is too old.");
  expired.verb = "list";
  server_.Inject(expired);
  Start();

  EXPECT_EQ(listener_.WaitFor(700).size(), 700U);
  EXPECT_THAT(Queries("list").at(1), Not(HasSubstr("resourceVersion")));
}

TEST_F(WatchSetTest, OfABusyServerTheListThatCostsLittleIsAskedForFiveTimes) {
  fake::Fault busy = fake::Fault::Status(504, "Too large resource version");
  busy.verb = "list";
  busy.count = 5;
  server_.Inject(busy);
  Start();

  const auto lists = Queries("list");
  ASSERT_EQ(lists.size(), 6U);
  for (size_t i = 0; i < 5; ++i) EXPECT_THAT(lists[i], HasSubstr("resourceVersion=0"));
  EXPECT_THAT(lists[5], Not(HasSubstr("resourceVersion")));
}

TEST_F(WatchSetTest, AfterAFallbackTheNextListCostsLittleAgain) {
  fake::Fault expired = fake::Fault::Status(410, "too old");
  expired.verb = "list";
  server_.Inject(expired);
  Start();
  server_.ExpireWatches();

  ASSERT_TRUE(server_.WaitForRequest("list", kPodsPath, 3));
  EXPECT_THAT(Queries("list").at(1), Not(HasSubstr("resourceVersion")));
  EXPECT_THAT(Queries("list").at(2), HasSubstr("resourceVersion="));
}

TEST_F(WatchSetTest, ManagedFieldsMayBeOfAnyDepth) {
  json pod = Pod("deep");
  pod["metadata"]["managedFields"] = json::array({{{"fieldsV1", Nested(500)}}});
  server_.Create(pod);
  Start();
  server_.Patch("pods", "default", "deep", Label("x"));

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("ADDED deep", "MODIFIED deep"));
  EXPECT_EQ(Metrics().bad_lines, 0U);
}

TEST_F(WatchSetTest, AnItemThatCannotBeReadCostsNoOther) {
  json deep = Pod("deep");
  deep["spec"] = Nested(100);
  json large = Pod("large");
  large["spec"] = {{"nodeSelector", {{"x", std::string(size_t{9} << 20, 'x')}}}};
  for (const json& pod : {Pod("a"), deep, large, Pod("z")}) server_.Create(pod);
  Start();

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("ADDED a", "ADDED z"));
  EXPECT_EQ(Metrics().bad_lines, 2U);
  EXPECT_EQ(Metrics().lists, 1U);
}

TEST_F(WatchSetTest, AKnownObjectThatCannotBeReadAnyMoreIsNotGone) {
  server_.Create(Pod("a"));
  Start();
  server_.StopListening();
  server_.Patch("pods", "default", "a", {{"spec", Nested(100)}});
  server_.Create(Pod("b"));
  server_.Compact();
  server_.StartListening();

  EXPECT_TRUE(listener_.Hears("ADDED b"));
  ASSERT_TRUE(server_.WaitForWatches(1, std::chrono::seconds(30)));
  server_.Create(Pod("c"));
  EXPECT_TRUE(listener_.Hears("ADDED c"));
  EXPECT_THAT(listener_.WaitFor(3), Not(Contains("DELETED a")));
}

TEST_F(WatchSetTest, WhatIsTooLargeForAPageIsListedInSmallerOnes) {
  for (int i = 0; i < 7; ++i) server_.Create(Pod("p" + std::to_string(i)));
  server_.Inject({.verb = "list",
                  .path_prefix = kPodsPath,
                  .count = 3,
                  .answer = {.body = std::string((size_t{64} << 20) + 1, ' ')}});
  // With the thread sanitizer, these bodies take 6 s of a processor.
  Start(std::chrono::minutes(2));

  EXPECT_EQ(listener_.WaitFor(7).size(), 7U);
  const auto present = Not(HasSubstr("resourceVersion"));
  EXPECT_THAT(Queries("list"), ElementsAre(HasSubstr("limit=500&resourceVersion=0"),
                                           AllOf(HasSubstr("limit=500"), present),
                                           AllOf(HasSubstr("limit=50"), present),
                                           HasSubstr("limit=5"), HasSubstr("limit=5&continue=")));
  EXPECT_EQ(Metrics().lists, 1U);
}

TEST_F(WatchSetTest, AnEndedStreamGoesOnWhereItWas) {
  server_.Create(Pod("a"));
  Start();
  server_.EndWatches();
  ASSERT_TRUE(server_.WaitForRequest("watch", kPodsPath, 2));
  ASSERT_TRUE(server_.WaitForWatches(1));

  server_.Create(Pod("b"));

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("ADDED a", "ADDED b"));
  EXPECT_EQ(Queries("list").size(), 1U);
  EXPECT_EQ(Reconnects(ReconnectReason::kEnded), 1U);
}

TEST_F(WatchSetTest, WhatHappenedWhileTheServerWasAwayIsHeardAfterwards) {
  server_.Create(Pod("a"));
  Start();
  server_.StopListening();
  server_.Create(Pod("b"));
  server_.Delete("pods", "default", "a");
  server_.StartListening();

  ASSERT_TRUE(server_.WaitForWatches(1, std::chrono::seconds(30)));
  EXPECT_TRUE(listener_.Hears("ADDED b"));
  EXPECT_TRUE(listener_.Hears("DELETED a"));
  EXPECT_EQ(Queries("list").size(), 1U);
}

TEST_F(WatchSetTest, ObjectsDeletedInAGapThatWasCompactedComeOutAsDeleted) {
  server_.Create(Pod("gone"));
  server_.Create(Pod("changed"));
  server_.Create(Pod("same"));
  Start();
  ASSERT_EQ(listener_.WaitFor(3).size(), 3U);
  server_.StopListening();
  server_.Delete("pods", "default", "gone");
  server_.Patch("pods", "default", "changed", Label("x"));
  server_.Create(Pod("new"));
  server_.Compact();
  server_.StartListening();

  ASSERT_TRUE(server_.WaitForWatches(1, std::chrono::seconds(30)));
  EXPECT_TRUE(listener_.Hears("DELETED gone"));
  EXPECT_TRUE(listener_.Hears("MODIFIED changed"));
  EXPECT_TRUE(listener_.Hears("ADDED new"));
  // The watches: the first, the one that was too late, and the one after the list.
  ASSERT_TRUE(server_.WaitForRequest("watch", kPodsPath, 3));
  EXPECT_THAT(listener_.WaitFor(6), Contains("ADDED same").Times(1));
  EXPECT_THAT(Reconnects(ReconnectReason::kExpired), Ge(1U));
  EXPECT_EQ(Metrics().lists, 2U);
}

TEST_F(WatchSetTest, AnErrorEventInTheStreamIsFollowedByAList) {
  server_.Create(Pod("a"));
  Start();

  server_.ExpireWatches();
  ASSERT_TRUE(server_.WaitForRequest("list", kPodsPath, 2));
  ASSERT_TRUE(server_.WaitForWatches(1));
  server_.Create(Pod("b"));

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("ADDED a", "ADDED b"));
}

TEST_F(WatchSetTest, AListAfterAWatchThatExpiredIsOfThePresentState) {
  server_.Create(Pod("a"));
  Start();
  server_.ExpireWatches();
  server_.Create(Pod("b"));
  const uint64_t version = server_.resource_version();

  EXPECT_TRUE(listener_.Hears("ADDED b"));
  ASSERT_TRUE(server_.WaitForRequest("watch", kPodsPath, 2));
  EXPECT_THAT(Queries("list").back(),
              AllOf(HasSubstr("resourceVersion="), Not(HasSubstr("limit"))));
  EXPECT_THAT(Queries("watch").back(), HasSubstr("resourceVersion=" + std::to_string(version)));
}

TEST_F(WatchSetTest, WhatExpiresAgainAndAgainIsReportedAndCountsAsFailing) {
  server_.Create(Pod("a"));
  fake::Fault expired;
  expired.kind = fake::Fault::Kind::kTamper;
  expired.verb = "watch";
  expired.count = 3;
  expired.tamper.insert = fake::stream_text::ExpiredError("too old resource version");
  server_.Inject(expired);
  watcher_.Add(kPodsPath, WatchMode::kSet);
  watcher_.Start();

  EXPECT_THAT(listener_.WaitFor(2).at(1), HasSubstr("410: "));
  ASSERT_TRUE(server_.WaitForRequest("watch", kPodsPath, 4));
  ASSERT_TRUE(server_.WaitForWatches(1));
  EXPECT_TRUE(Metrics().failing_since);
  server_.Create(Pod("b"));
  EXPECT_TRUE(listener_.Hears("ADDED b"));
  EXPECT_FALSE(Metrics().failing_since);
  EXPECT_EQ(Reconnects(ReconnectReason::kExpired), 3U);
}

TEST_F(WatchSetTest, AWatchThatFailedOnTheServersSideIsFollowedByAList) {
  Start();
  fake::Fault failed = fake::Fault::Status(500, "no such version");
  failed.verb = "watch";
  server_.Inject(failed);
  server_.EndWatches();

  EXPECT_TRUE(server_.WaitForRequest("list", kPodsPath, 2));
}

TEST_F(WatchSetTest, AWatchThatIsRefusedToUsGoesOnWhereItWas) {
  Start();
  fake::Fault refused = fake::Fault::Status(403, "not yet");
  refused.verb = "watch";
  server_.Inject(refused);
  server_.EndWatches();

  ASSERT_TRUE(server_.WaitForRequest("watch", kPodsPath, 3));
  EXPECT_EQ(Queries("list").size(), 1U);
}

TEST(WatchSetSilenceTest, AWatchWithoutASingleBookmarkIsFollowedByAList) {
  // The server sends no bookmark at the end of a watch either.
  FakeApiServer server(
      fake::Options{.pace = {.bookmark_interval = 3600, .bookmark_before_end = -1}});
  Listener listener;
  Watcher watcher({.api_root = server.url(), .read_timeout = std::chrono::seconds(1)}, listener);
  watcher.Add(kPodsPath, WatchMode::kSet);
  watcher.Add(kNamespacesPath, WatchMode::kSet, {.fresh = true});
  watcher.Start();

  EXPECT_TRUE(server.WaitForRequest("list", kPodsPath, 2, std::chrono::seconds(40)));
  EXPECT_TRUE(server.WaitForRequest("list", kNamespacesPath, 2, std::chrono::seconds(40)));
  for (const auto& request : server.Requests()) {
    if (request.verb == "list" && request.target.starts_with(kNamespacesPath)) {
      EXPECT_THAT(request.target, Not(HasSubstr("resourceVersion"))) << "it asks for the present";
    }
  }
}

TEST_F(WatchSetTest, BookmarksMoveThePlaceToGoOnFrom) {
  Start();
  server_.Create({{"apiVersion", "openstack.org/v1"},
                  {"kind", "KuryrPort"},
                  {"metadata", {{"name", "moves-the-version"}}}});
  const uint64_t version = server_.resource_version();
  server_.BookmarkWatches();
  server_.EndWatches();

  ASSERT_TRUE(server_.WaitForRequest("watch", kPodsPath, 2));
  EXPECT_THAT(Queries("watch").at(1), HasSubstr("resourceVersion=" + std::to_string(version)));
  EXPECT_EQ(Metrics().events[static_cast<size_t>(EventType::kBookmark)], 1U);
}

TEST_F(WatchSetTest, RetryAfterIsObeyed) {
  fake::Fault busy = fake::Fault::TooManyRequests(3);
  server_.Inject(busy);
  const auto start = std::chrono::steady_clock::now();
  Start();

  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  EXPECT_EQ(Reconnects(ReconnectReason::kRefused), 1U);
}

TEST_F(WatchSetTest, APoisonousObjectIsCountedAndTheOthersAreHeard) {
  server_.Create(Pod("poison"));
  Start();
  server_.SendToWatches(fake::stream_text::Garbage());
  server_.Create(Pod("x"));

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("ADDED poison", "ADDED x"));
  watcher_.RequestStop();
  EXPECT_TRUE(watcher_.Metrics().empty());
}

TEST_F(WatchSetTest, TheMetricsTellWhatHappened) {
  server_.Create(Pod("poison"));
  Start();
  EXPECT_FALSE(Metrics().failing_since);
  server_.SendToWatches(fake::stream_text::Garbage());
  server_.Create(Pod("x"));
  ASSERT_EQ(listener_.WaitFor(2).size(), 2U);
  server_.StopListening();
  ASSERT_EQ(listener_.WaitFor(4).size(), 4U);

  const WatchMetrics metrics = Metrics();
  EXPECT_GE(metrics.connects, 2U);
  EXPECT_EQ(metrics.lists, 1U);
  EXPECT_EQ(metrics.handler_errors, 1U);
  EXPECT_GE(metrics.bad_lines, 1U);
  EXPECT_EQ(metrics.events[static_cast<size_t>(EventType::kAdded)], 1U);
  EXPECT_GT(metrics.bytes, 100U);
  EXPECT_TRUE(metrics.failing_since);
  EXPECT_GE(Reconnects(ReconnectReason::kUnavailable), 1U);
}

TEST_F(WatchSetTest, AResourceThatNeedNotExistIsAnEmptySetWhileItDoesNot) {
  const std::string path = "/apis/openstack.org/v1/kuryrports";
  server_.Create({{"apiVersion", "openstack.org/v1"},
                  {"kind", "KuryrPort"},
                  {"metadata", {{"name", "a"}}},
                  {"spec", json::object()}});
  watcher_.Add(path, WatchMode::kOptionalSet);
  watcher_.Start();
  ASSERT_TRUE(server_.WaitForWatches(1));
  for (const char* verb : {"list", "watch"})
    server_.Inject({.verb = verb, .path_prefix = path, .count = 1, .answer = {.status = 404}});
  server_.EndWatches();
  // Without AskForAbsent(), the watcher would ask again only after 2 s and 8 s.
  ASSERT_TRUE(server_.WaitForRequest("list", path, 2));
  watcher_.AskForAbsent();

  EXPECT_THAT(listener_.WaitFor(3), ElementsAre("ADDED a", "DELETED a", "ADDED a"));
  const auto reconnects = watcher_.Metrics().at(path).reconnects;
  EXPECT_EQ(reconnects[static_cast<size_t>(ReconnectReason::kRefused)], 0U);
  EXPECT_EQ(reconnects[static_cast<size_t>(ReconnectReason::kAbsent)], 2U);
  EXPECT_EQ(reconnects[static_cast<size_t>(ReconnectReason::kEnded)], 1U);
}

class WatchSetForbiddenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.Create({{"apiVersion", "openstack.org/v1"},
                    {"kind", "KuryrPort"},
                    {"metadata", {{"name", "a"}}},
                    {"spec", json::object()}});
  }
  void Forbid(const char* verb) {
    fake::Fault fault = fake::Fault::Status(403, "no right");
    fault.verb = verb;
    fault.path_prefix = kPorts;
    fault.count = 3;
    server_.Inject(fault);
  }
  void Start() {
    watcher_.Add(kPorts, WatchMode::kOptionalSet,
                 {.on_listed = [this] { ++listed_; },
                  .on_forbidden = [this](const std::exception&) { ++forbidden_; }});
    watcher_.Start();
  }

  static constexpr const char* kPorts = "/apis/openstack.org/v1/kuryrports";
  FakeApiServer server_;
  Listener listener_;
  std::atomic<int> listed_ = 0;
  std::atomic<int> forbidden_ = 0;
  Watcher watcher_{{.api_root = server_.url(), .refusal_grace = std::chrono::seconds(0)},
                   listener_,
                   listener_.OnFailure()};
};

TEST_F(WatchSetForbiddenTest, WhatMayNotBeListedIsAbsentUntilItMay) {
  Forbid("list");
  Start();

  EXPECT_THAT(listener_.WaitFor(3),
              ElementsAre(HasSubstr("unavailable: "), HasSubstr("unavailable: "), "ADDED a"));
  ASSERT_TRUE(server_.WaitForWatches(1));
  EXPECT_EQ(forbidden_, 1);
  EXPECT_EQ(listed_, 2);
  const auto reconnects = watcher_.Metrics().at(kPorts).reconnects;
  EXPECT_EQ(reconnects[static_cast<size_t>(ReconnectReason::kRefused)], 2U);
  EXPECT_EQ(reconnects[static_cast<size_t>(ReconnectReason::kAbsent)], 1U);
}

TEST_F(WatchSetForbiddenTest, WhatWasListedIsNotForgottenWhenTheRightIsTakenAway) {
  Start();
  ASSERT_TRUE(server_.WaitForWatches(1));
  Forbid("watch");
  server_.EndWatches();

  EXPECT_THAT(listener_.WaitFor(4), ElementsAre("ADDED a", HasSubstr("unavailable: "),
                                                HasSubstr("unavailable: "), HasSubstr("403: ")));
  EXPECT_TRUE(server_.WaitForWatches(1));
  EXPECT_EQ(forbidden_, 0);
}

TEST_F(WatchSetTest, WhatIsAbsentIsAskedForWhenSomebodyNeedsItButNotAllTheTime) {
  const std::string path = "/apis/openstack.org/v1/kuryrports";
  server_.Inject({.verb = "list", .path_prefix = path, .count = -1, .answer = {.status = 404}});
  watcher_.Add(path, WatchMode::kOptionalSet);

  const auto start = std::chrono::steady_clock::now();
  watcher_.Start();
  constexpr size_t kAsked = 4;
  for (size_t i = 1; i <= kAsked; ++i) {
    // Without AskForAbsent(), the watcher would wait for 2 s, 8 s, and 32 s.
    ASSERT_TRUE(server_.WaitForRequest("list", path, i)) << i;
    for (int again = 0; again < 100; ++again) watcher_.AskForAbsent();
  }

  EXPECT_GE(std::chrono::steady_clock::now() - start, (kAsked - 1) * ReconnectDelay::kLeastAbsent);
}

}  // namespace
}  // namespace kuryr::watcher
