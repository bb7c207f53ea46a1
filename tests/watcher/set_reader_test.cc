#include "watcher/set_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "watcher/api_error.h"

// A set of more objects than come in one answer. The first page only says that there are so many.

namespace kuryr::watcher {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SetReaderTest : public ::testing::Test {
 protected:
  explicit SetReaderTest(bool streams_lists = true)
      : server_(fake::Options{.streams_lists = streams_lists}) {}

  void Create(const std::string& name) {
    server_.Create({{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}});
  }
  static std::string Line(const char* type, const json& metadata, const std::string& more = "") {
    return std::string(R"({"type":")") + type + R"(","object":{"kind":"Pod","metadata":)" +
           metadata.dump() + more + "}}\n";
  }
  static std::string EndAt(const char* version) {
    return Line("BOOKMARK", {{"resourceVersion", version},
                             {"annotations", {{"k8s.io/initial-events-end", "true"}}}});
  }
  void AnswerStream(const std::string& lines) {
    server_.Inject({.verb = "watch", .answer = {.body = lines}});
  }
  /// The present state of a set that is told to be large.
  std::string Present() {
    const json page = {
        {"kind", "PodList"},
        {"apiVersion", "v1"},
        {"metadata", {{"resourceVersion", "1"}, {"continue", "x"}, {"remainingItemCount", 5001}}},
        {"items", json::array()}};
    server_.Inject({.verb = "list", .answer = {.body = page.dump()}});
    events_.clear();
    return reader_.Present();
  }
  std::vector<std::string> Verbs() {
    std::vector<std::string> verbs;
    for (const auto& request : server_.Requests()) verbs.push_back(request.verb);
    return verbs;
  }

  fake::FakeApiServer server_;
  ApiClient client_{{.api_root = server_.url()}};
  EventParser parser_;
  std::vector<std::string> events_;
  ObjectSet set_{[this](const WatchEvent& event) {
    events_.push_back((event.type == EventType::kDeleted ? "DELETED " : "PRESENT ") + event.name);
  }};
  SharedMetrics metrics_;
  SetReader reader_{"/api/v1/pods", std::chrono::seconds(30), {client_, parser_, set_, metrics_}};
};

TEST_F(SetReaderTest, LargeSetIsStreamed) {
  Create("a");
  Create("b");

  EXPECT_EQ(Present(), std::to_string(server_.resource_version()));

  EXPECT_THAT(events_, ElementsAre("PRESENT a", "PRESENT b"));
  EXPECT_THAT(Verbs(), ElementsAre("list", "watch"));
  EXPECT_THAT(server_.Requests().back().target, HasSubstr("sendInitialEvents=true"));
}

TEST_F(SetReaderTest, ObjectThatAStreamedListLacksIsGone) {
  Create("a");
  Create("b");
  (void)Present();
  server_.Delete("pods", "default", "a");

  (void)Present();

  EXPECT_THAT(events_, ElementsAre("DELETED a"));
}

TEST_F(SetReaderTest, EventAfterTheStateIsLeftToTheWatch) {
  AnswerStream(Line("ADDED", {{"name", "a"}, {"resourceVersion", "7"}}) + EndAt("9") +
               Line("DELETED", {{"name", "a"}, {"resourceVersion", "11"}}));

  EXPECT_EQ(Present(), "9");

  EXPECT_THAT(events_, ElementsAre("PRESENT a"));
}

TEST_F(SetReaderTest, ChangeBeforeTheEndOfTheStateIsTaken) {
  AnswerStream(Line("ADDED", {{"name", "a"}, {"resourceVersion", "7"}}) +
               Line("BOOKMARK", {{"resourceVersion", "8"}}) +
               Line("DELETED", {{"name", "a"}, {"resourceVersion", "8"}}) + EndAt("9"));

  EXPECT_EQ(Present(), "9");

  EXPECT_THAT(events_, ElementsAre("PRESENT a", "DELETED a"));
}

TEST_F(SetReaderTest, UnreadableObjectOfAStreamStaysKnown) {
  Create("a");
  (void)Present();
  AnswerStream(Line("ADDED", {{"name", "a"}, {"namespace", "default"}},
                    R"(,"spec":)" + std::string(2000, '[') + std::string(2000, ']')) +
               EndAt("9"));

  EXPECT_EQ(Present(), "9");

  EXPECT_THAT(events_, ElementsAre());
  EXPECT_EQ(metrics_.Read().bad_lines, 1U);
}

TEST_F(SetReaderTest, StreamThatEndsTooSoonIsFollowedByPages) {
  Create("a");
  Create("b");
  AnswerStream(Line("ADDED", {{"name", "a"}, {"namespace", "default"}}));

  EXPECT_EQ(Present(), std::to_string(server_.resource_version()));

  EXPECT_EQ(set_.size(), 2U);
  EXPECT_THAT(Verbs(), ElementsAre("list", "watch", "list"));
}

TEST_F(SetReaderTest, StreamWithAnErrorIsFollowedByPages) {
  Create("a");
  AnswerStream(
      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":504,\"message\":\"late\"}}\n");

  (void)Present();

  EXPECT_THAT(events_, ElementsAre("PRESENT a"));
}

TEST_F(SetReaderTest, ServerThatLimitsTheRateIsNotAskedForPages) {
  fake::Fault fault = fake::Fault::TooManyRequests(1);
  fault.verb = "watch";
  server_.Inject(fault);

  EXPECT_THROW((void)Present(), ApiError);

  EXPECT_THAT(Verbs(), ElementsAre("list", "watch"));
}

TEST_F(SetReaderTest, ServerThatIsOverloadedIsNotAskedForPages) {
  fake::Fault fault = fake::Fault::Status(504, "too busy");
  fault.verb = "watch";
  server_.Inject(fault);

  EXPECT_THROW((void)Present(), ApiError);

  EXPECT_THAT(Verbs(), ElementsAre("list", "watch"));
}

class PagesOnlyTest : public SetReaderTest {
 protected:
  PagesOnlyTest() : SetReaderTest(false) {}
};

TEST_F(PagesOnlyTest, ServerThatStreamsNoListsIsAskedForPages) {
  Create("a");

  EXPECT_EQ(Present(), std::to_string(server_.resource_version()));

  EXPECT_THAT(events_, ElementsAre("PRESENT a"));
  EXPECT_THAT(Verbs(), ElementsAre("list", "watch", "list"));
}

}  // namespace
}  // namespace kuryr::watcher
