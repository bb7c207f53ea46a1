#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/fake_apiserver/raw_client.h"

// Clocks and selectors of watches; their form is in watch_capture_test.cc.

namespace kuryr::fake {
namespace {

using nlohmann::json;

json PodOn(const std::string& node, const std::string& name = "x") {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}, {"labels", {{"l", "1"}}}}},
          {"spec", {{"nodeName", node}}}};
}

std::vector<std::string> Types(const RawAnswer& answer) {
  std::vector<std::string> types;
  for (const json& event : ParseEvents(answer.body)) types.push_back(event.at("type"));
  return types;
}

TEST(WatchTest, EndsInOrderAtItsTimeout) {
  const FakeApiServer server({.pace = {.second = std::chrono::milliseconds(1)}});

  const RawAnswer answer = Get(server.port(), "/api/v1/pods?watch=true&timeoutSeconds=5");

  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.body, "");
}

TEST(WatchTest, BookmarksComeAtIntervalsAndShortlyBeforeTheEnd) {
  const FakeApiServer server({.pace = {.second = std::chrono::milliseconds(1)}});

  const RawAnswer answer =
      Get(server.port(), "/api/v1/pods?watch=true&timeoutSeconds=80&allowWatchBookmarks=true");

  EXPECT_EQ(Types(answer), (std::vector<std::string>{"BOOKMARK", "BOOKMARK"}));
}

TEST(WatchTest, WithoutRoomBeforeTheEndThereIsNoBookmark) {
  const FakeApiServer server({.pace = {.second = std::chrono::milliseconds(1)}});

  const RawAnswer answer =
      Get(server.port(), "/api/v1/pods?watch=true&timeoutSeconds=2&allowWatchBookmarks=true");

  EXPECT_EQ(Types(answer), std::vector<std::string>{});
}

TEST(WatchTest, FutureVersionIsSilentAboutThePresent) {
  FakeApiServer server({.pace = {.second = std::chrono::milliseconds(1)}});
  server.Create(PodOn("n1"));

  const RawAnswer answer =
      Get(server.port(), "/api/v1/pods?watch=true&resourceVersion=999999&timeoutSeconds=5");

  EXPECT_EQ(Types(answer), std::vector<std::string>{});
  EXPECT_TRUE(answer.complete);
}

TEST(WatchTest, ConnectionTakesANextRequestAfterAnEndInOrder) {
  const FakeApiServer server({.pace = {.second = std::chrono::milliseconds(1)}});
  RawClient client(server.port());

  client.Send("GET /api/v1/pods?watch=true&timeoutSeconds=1 HTTP/1.1\r\nHost: t\r\n\r\n");
  static_cast<void>(client.ReadUntil("\r\n0\r\n\r\n"));
  client.Send(GetRequest("/healthz"));

  EXPECT_EQ(ParseAnswer(client.ReadToEnd()).body, "ok");
}

TEST(WatchTest, ObjectThatLeavesTheSelectorIsDeletedAndOneThatEntersIsAdded) {
  FakeApiServer server;
  server.Create(PodOn("n1"));
  RawClient watch(server.port());
  watch.Send(GetRequest("/api/v1/pods?watch=true&labelSelector=l%3D1"));
  ASSERT_TRUE(server.WaitForWatches(1));
  const auto label = [&](const char* value) {
    server.Patch("pods", "default", "x", {{"metadata", {{"labels", {{"l", value}}}}}});
  };

  label("2");
  label("3");
  label("1");
  server.EndWatches();
  const RawAnswer answer = ParseAnswer(watch.ReadToEnd());

  EXPECT_EQ(Types(answer), (std::vector<std::string>{"ADDED", "DELETED", "ADDED"}));
  const json left = ParseEvents(answer.body).at(1).at("object").at("metadata");
  EXPECT_EQ(left.at("labels").at("l"), "1");
  EXPECT_EQ(left.at("resourceVersion"), "102");
}

TEST(WatchTest, OtherNodesAreNotShown) {
  FakeApiServer server;
  RawClient watch(server.port());
  watch.Send(GetRequest("/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dn1"));
  ASSERT_TRUE(server.WaitForWatches(1));

  server.Create(PodOn("n2", "other"));
  server.Create(PodOn("n1"));
  server.Delete("pods", "default", "other");
  server.EndWatches();

  EXPECT_EQ(Types(ParseAnswer(watch.ReadToEnd())), std::vector<std::string>{"ADDED"});
}

TEST(WatchTest, PodMadeAgainUnderItsNameHasAnotherUid) {
  FakeApiServer server;
  RawClient watch(server.port());
  watch.Send(GetRequest("/api/v1/pods?watch=true"));
  ASSERT_TRUE(server.WaitForWatches(1));

  server.Create(PodOn("n1"));
  server.Delete("pods", "default", "x");
  server.Create(PodOn("n1"));
  server.EndWatches();
  const RawAnswer answer = ParseAnswer(watch.ReadToEnd());

  EXPECT_EQ(Types(answer), (std::vector<std::string>{"ADDED", "MODIFIED", "DELETED", "ADDED"}));
  const std::vector<json> events = ParseEvents(answer.body);
  EXPECT_NE(events.at(0)["object"]["metadata"]["uid"], events.at(3)["object"]["metadata"]["uid"]);
}

TEST(WatchTest, ManyWatchesSeeEveryChangeOfManyWriters) {
  constexpr int kWatches = 8;
  constexpr int kWriters = 4;
  constexpr int kMany = 10;
  FakeApiServer server;
  std::vector<RawClient> watches;
  for (int i = 0; i < kWatches; ++i) {
    watches.emplace_back(server.port());
    watches.back().Send(GetRequest("/api/v1/pods?watch=true"));
  }
  ASSERT_TRUE(server.WaitForWatches(kWatches));

  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&server, writer] {
      for (int pod = 0; pod < kMany; ++pod) {
        server.Create(PodOn("n1", "w" + std::to_string(writer) + "-" + std::to_string(pod)));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  server.EndWatches();

  for (RawClient& watch : watches) {
    EXPECT_EQ(Types(ParseAnswer(watch.ReadToEnd())).size(), size_t{kWriters} * kMany);
  }
}

}  // namespace
}  // namespace kuryr::fake
