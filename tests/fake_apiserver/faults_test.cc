#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/fake_apiserver/pod_named.h"
#include "tests/fake_apiserver/raw_client.h"

namespace kuryr::fake {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr const char* kWatch = "/api/v1/pods?watch=true";

bool IsRefused(uint16_t port) {
  try {
    const RawClient client(port);
    return false;
  } catch (const std::system_error& e) {
    return e.code() == std::errc::connection_refused;
  }
}

std::vector<std::string> Types(const std::string& body) {
  std::vector<std::string> types;
  for (const json& event : ParseEvents(body)) types.push_back(event.at("type"));
  return types;
}

class FaultsTest : public testing::Test {
 protected:
  FaultsTest() {
    server_.Create(PodNamed("a"));
    server_.Create(PodNamed("b"));
  }
  /// Makes a watch that `tamper` ends; returns the answer.
  RawAnswer WatchTampered(const Tamper& tamper) {
    server_.Inject({.kind = Fault::Kind::kTamper, .tamper = tamper});
    return Get(server_.port(), kWatch);
  }
  /// An open watch whose client has the present state.
  RawClient OpenWatch() {
    RawClient client(server_.port());
    client.Send(GetRequest(kWatch));
    EXPECT_TRUE(server_.WaitForWatches(1));
    return client;
  }

  FakeApiServer server_;
};

TEST_F(FaultsTest, StoppedServerRefusesAndComesBackOnItsPort) {
  RawClient watch = OpenWatch();
  const uint16_t port = server_.port();

  server_.StopListening();
  const bool refused = IsRefused(port);
  const RawAnswer cut = ParseAnswer(watch.ReadToEnd());
  server_.StartListening();

  EXPECT_TRUE(refused);
  EXPECT_FALSE(cut.complete);
  EXPECT_EQ(Get(port, "/healthz").Status(), 200);
}

TEST_F(FaultsTest, StoppedServerComesBackByItself) {
  server_.StopListening(milliseconds(1));

  // Only the server's clock decides when this ends.
  while (IsRefused(server_.port())) {
  }

  EXPECT_EQ(Get(server_.port(), "/healthz").Status(), 200);
}

TEST_F(FaultsTest, HangingConnectionIsAcceptedAndLeftAlone) {
  server_.HangConnections(1);
  RawClient hanging(server_.port());
  hanging.Send(GetRequest("/healthz"));

  const int next = Get(server_.port(), "/healthz").Status();

  EXPECT_EQ(next, 200);
  EXPECT_TRUE(hanging.IsQuiet());
}

TEST_F(FaultsTest, SilenceLeavesTheRequestWithoutAnswer) {
  server_.Inject({.kind = Fault::Kind::kSilence, .verb = "list"});
  RawClient silent(server_.port());
  silent.Send(GetRequest("/api/v1/pods"));
  ASSERT_TRUE(server_.WaitForRequest("list", "/api/v1/pods"));

  const int next = Get(server_.port(), "/api/v1/pods").Status();

  EXPECT_EQ(next, 200);
  EXPECT_TRUE(silent.IsQuiet());
}

TEST_F(FaultsTest, DropClosesWithoutAnswer) {
  server_.Inject({.kind = Fault::Kind::kDrop, .path_prefix = "/api/v1"});
  RawClient client(server_.port());

  client.Send(GetRequest("/api/v1/pods"));

  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST_F(FaultsTest, AnswerIsGivenToAsManyRequestsAsWanted) {
  Fault fault = Fault::Status(503, "shutting down");
  fault.path_prefix = "/api/v1/namespaces";
  fault.count = 2;
  server_.Inject(fault);
  const auto get = [&](const std::string& target) { return Get(server_.port(), target).Status(); };

  EXPECT_EQ(get("/api/v1/namespaces/default/pods"), 503);
  EXPECT_EQ(get("/api/v1/pods"), 200);
  EXPECT_EQ(get("/api/v1/namespaces/default/pods"), 503);
  EXPECT_EQ(get("/api/v1/namespaces/default/pods"), 200);
}

TEST_F(FaultsTest, TooManyRequestsIsTextWithRetryAfter) {
  server_.Inject(Fault::TooManyRequests(7));

  const RawAnswer answer = Get(server_.port(), "/api/v1/pods");

  EXPECT_EQ(answer.status_line, "HTTP/1.1 429 Too Many Requests");
  EXPECT_EQ(answer.headers.at("retry-after"), "7");
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain; charset=utf-8");
}

TEST_F(FaultsTest, DelayedAnswerComesLate) {
  Fault fault = Fault::Status(500, "late");
  fault.answer.delay = milliseconds(20);
  server_.Inject(fault);
  const auto start = Clock::now();

  const int status = Get(server_.port(), "/api/v1/pods").Status();

  EXPECT_EQ(status, 500);
  EXPECT_GE(Clock::now() - start, milliseconds(20));
}

TEST_F(FaultsTest, StreamIsCutAfterBytes) {
  const RawAnswer answer = WatchTampered({.cut_after_bytes = 40});

  EXPECT_EQ(answer.body.size(), 40U);
  EXPECT_FALSE(answer.complete);
}

TEST_F(FaultsTest, StreamIsCutAfterEvents) {
  const RawAnswer answer = WatchTampered({.cut_after_events = 1});

  EXPECT_EQ(Types(answer.body), std::vector<std::string>{"ADDED"});
  EXPECT_FALSE(answer.complete);
}

TEST_F(FaultsTest, StreamEndsInOrderAfterEvents) {
  const RawAnswer answer = WatchTampered({.end_after_events = 2});

  EXPECT_EQ(Types(answer.body), (std::vector<std::string>{"ADDED", "ADDED"}));
  EXPECT_TRUE(answer.complete);
}

TEST_F(FaultsTest, StreamDripsInSmallChunks) {
  const auto start = Clock::now();

  const RawAnswer answer =
      WatchTampered({.end_after_events = 1, .drip_bytes = 100, .drip_pause = milliseconds(1)});

  EXPECT_EQ(Types(answer.body), std::vector<std::string>{"ADDED"});
  EXPECT_EQ(answer.chunks.size(), (answer.body.size() + 99) / 100);
  EXPECT_GE(Clock::now() - start, milliseconds(1) * (answer.chunks.size() - 1));
}

TEST_F(FaultsTest, LinesMayEndInCrLf) {
  const RawAnswer answer = WatchTampered({.end_after_events = 2, .line_end = "\r\n"});

  EXPECT_TRUE(answer.chunks.at(0).ends_with("}\r\n"));
  EXPECT_TRUE(answer.chunks.at(1).ends_with("}\r\n"));
}

TEST_F(FaultsTest, AnyTextIsInsertedBetweenEvents) {
  for (const std::string& text :
       {stream_text::Garbage(), stream_text::BlankLines(), stream_text::HugeLine(3'000'000),
        stream_text::UnknownType(), stream_text::EventWithoutObject()}) {
    const RawAnswer answer =
        WatchTampered({.end_after_events = 2, .insert = text, .insert_after_events = 1});

    ASSERT_EQ(answer.chunks.size(), 3U);
    EXPECT_EQ(answer.chunks.at(1), text);
    EXPECT_TRUE(answer.complete);
  }
}

TEST_F(FaultsTest, OpenWatchesAreSentTextBetweenChanges) {
  RawClient watch = OpenWatch();

  server_.Create(PodNamed("c"));
  server_.SendToWatches(stream_text::EventWithoutObject());
  server_.Create(PodNamed("d"));
  server_.EndWatches();

  EXPECT_EQ(Types(ParseAnswer(watch.ReadToEnd()).body),
            (std::vector<std::string>{"ADDED", "ADDED", "ADDED", "MODIFIED", "ADDED"}));
}

TEST_F(FaultsTest, ExpiredWatchSaysSoAndEnds) {
  RawClient watch = OpenWatch();

  server_.ExpireWatches();
  const RawAnswer answer = ParseAnswer(watch.ReadToEnd());

  EXPECT_EQ(ParseEvents(answer.body).back()["object"]["code"], 410);
  EXPECT_TRUE(answer.complete);
}

TEST_F(FaultsTest, CompactionExpiresOldVersionsAndSparesOpenWatches) {
  RawClient watch = OpenWatch();
  const std::string version = std::to_string(server_.resource_version());

  server_.Create(PodNamed("c"));
  server_.Compact();
  const RawAnswer late = Get(server_.port(), std::string(kWatch) + "&resourceVersion=" + version);
  server_.EndWatches();

  EXPECT_EQ(Types(late.body), std::vector<std::string>{"ERROR"});
  EXPECT_EQ(Types(ParseAnswer(watch.ReadToEnd()).body).size(), 3U);
}

TEST_F(FaultsTest, ClientThatLeavesClosesItsWatch) {
  {
    const RawClient watch = OpenWatch();
  }

  EXPECT_TRUE(server_.WaitForWatches(0));
}

TEST(ServerEndTest, DropsWatchesPromptly) {
  const auto start = Clock::now();
  {
    FakeApiServer server;
    RawClient watch(server.port());
    watch.Send(GetRequest(kWatch));
    ASSERT_TRUE(server.WaitForWatches(1));
  }

  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace kuryr::fake
