#include "watcher/watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/watcher/beginning.h"
#include "tests/watcher/listener.h"
#include "tests/watcher/pod_x.h"
#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

using fake::FakeApiServer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A port whose queue is full: a connection to it never completes.
class FullListener {
 public:
  FullListener() {
    ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address_), length_);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address_), &length_);
    ::listen(listener_.get(), 0);
    for (UniqueFd& waiting : waiting_) {
      waiting.reset(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      ::connect(waiting.get(), reinterpret_cast<sockaddr*>(&address_), length_);
    }
  }
  [[nodiscard]] std::string port() const { return std::to_string(ntohs(address_.sin_port)); }

  /// Waits until another socket than those above is in SYN-SENT to the port; no event tells of it.
  void WaitForAttempt() const {
    const std::string to = "0100007F:" + Hex(ntohs(address_.sin_port)) + " 02";
    for (int i = 0; i < 1000; ++i) {
      std::ifstream sockets("/proc/net/tcp");
      size_t attempts = 0;
      for (std::string line; std::getline(sockets, line);) {
        if (line.find(to) != std::string::npos) ++attempts;
      }
      if (attempts > waiting_.size() - 1) return;
      std::this_thread::sleep_for(milliseconds(5));
    }
    FAIL() << "no attempt to connect";
  }

 private:
  static std::string Hex(uint16_t number) {
    std::ostringstream text;
    text << std::hex << std::uppercase << std::setw(4) << std::setfill('0') << number;
    return text.str();
  }

  UniqueFd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address_{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t length_ = sizeof address_;
  std::array<UniqueFd, 3> waiting_;  ///< the kernel puts the first into the queue
};

/// The time that Stop() takes.
milliseconds StopTime(Watcher& watcher) {
  const auto start = std::chrono::steady_clock::now();
  watcher.Stop();
  const auto took =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
  ::testing::Test::RecordProperty("stop_ms", static_cast<int>(took.count()));
  return took;
}

/// Below every timeout of a connection (30 s and more), far above what a loaded machine adds.
constexpr milliseconds kPrompt{15'000};

class WatcherTest : public ::testing::TestWithParam<bool> {
 protected:
  static fake::Options ServerOptions() {
    fake::Options options;
    if (GetParam()) options.tls = fake::TestTls();
    return options;
  }

  FakeApiServer server_{ServerOptions()};
  Listener listener_;
};

INSTANTIATE_TEST_SUITE_P(HttpAndHttps, WatcherTest, ::testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "Https" : "Http"; });

TEST_P(WatcherTest, ThePresentStateComesFirstThenEveryChange) {
  server_.Create(PodNamed("x"));
  server_.Create(PodNamed("y"));
  Watcher watcher(For(server_), listener_);
  watcher.Add(kPodX);

  watcher.Start();
  ASSERT_TRUE(server_.WaitForWatches(1));
  server_.Patch("pods", "default", "x", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  server_.Delete("pods", "default", "x");

  EXPECT_THAT(listener_.WaitFor(4),
              ElementsAre("ADDED x", "MODIFIED x", "MODIFIED x", "DELETED x"));
}

TEST_P(WatcherTest, AStreamThatEndsOrBreaksIsOpenedAgain) {
  server_.Create(PodNamed("x"));
  Watcher watcher(For(server_), listener_);
  watcher.Add(kPodX);
  watcher.Start();
  ASSERT_TRUE(server_.WaitForWatches(1));

  server_.EndWatches();
  ASSERT_EQ(listener_.WaitFor(2).size(), 2U);
  server_.DropWatches();
  ASSERT_EQ(listener_.WaitFor(3).size(), 3U);
  server_.ExpireWatches();

  EXPECT_THAT(listener_.WaitFor(4), ElementsAre("ADDED x", "ADDED x", "ADDED x", "ADDED x"));
}

TEST_P(WatcherTest, AServerThatRefusesAWatchWithoutAVersionIsReadAndWatchedFromThere) {
  server_.Create(PodNamed("x"));
  server_.Inject(fake::Fault::Lagging("/api/v1", -1));
  Watcher watcher(For(server_), listener_, listener_.OnFailure());
  watcher.Add(kPodX);
  watcher.Start();
  ASSERT_TRUE(server_.WaitForWatches(1));
  server_.Delete("pods", "default", "x");

  EXPECT_THAT(listener_.WaitFor(4),
              ElementsAre(HasSubstr("504: "), "ADDED x", "MODIFIED x", "DELETED x"));
  EXPECT_THAT(VerbsOf(server_), ElementsAre("watch", "list", "watch"));
}

TEST_P(WatcherTest, AWatchBeginsAtTheVersionOfItsCallersRead) {
  server_.Inject(fake::Fault::Lagging("/api/v1", -1));
  server_.Create(PodNamed("x"));
  Watcher watcher(For(server_), listener_, listener_.OnFailure());
  watcher.Add(kPodX, WatchMode::kPresentState, {.begin = ReadOf(For(server_), kPodX)});
  watcher.Start();
  ASSERT_TRUE(server_.WaitForWatches(1));
  server_.Patch("pods", "default", "x", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  EXPECT_THAT(listener_.WaitFor(1), ElementsAre("MODIFIED x"));

  server_.ExpireWatches();
  server_.Delete("pods", "default", "x");

  EXPECT_TRUE(listener_.Hears("DELETED x")) << "though it may be gone before the next read";
}

TEST_P(WatcherTest, ABadLineOrABadObjectDoesNotStopTheStream) {
  Watcher watcher(For(server_), listener_);
  watcher.Add("/api/v1/pods");
  watcher.Start();
  ASSERT_TRUE(server_.WaitForWatches(1));

  server_.SendToWatches(fake::stream_text::Garbage());
  server_.SendToWatches(fake::stream_text::BlankLines());
  server_.SendToWatches(fake::stream_text::EventWithoutObject());
  server_.Create(PodNamed("poison"));
  server_.Create(PodNamed("x"));

  EXPECT_THAT(listener_.WaitFor(2), ElementsAre("ADDED poison", "ADDED x"));
}

TEST_P(WatcherTest, StopIsPromptWhileTheStreamIsSilent) {
  Watcher watcher(For(server_), listener_);
  watcher.Add(kPodX);
  watcher.Start();
  ASSERT_TRUE(server_.WaitForWatches(1));

  EXPECT_LT(StopTime(watcher), kPrompt);
}

TEST_P(WatcherTest, StopIsPromptWhileTheServerDoesNotAnswer) {
  server_.Inject({.kind = fake::Fault::Kind::kSilence, .count = -1});
  Watcher watcher(For(server_), listener_);
  watcher.Add(kPodX);
  watcher.Start();
  ASSERT_TRUE(server_.WaitForRequest("watch", "/api/v1"));

  EXPECT_LT(StopTime(watcher), kPrompt);
}

TEST_P(WatcherTest, StopIsPromptWhileShakingHands) {
  server_.HangConnections(1);
  Watcher watcher(For(server_), listener_);
  watcher.Add(kPodX);
  watcher.Start();
  // No event tells when the connection is accepted; the test holds whether or not it is by now.
  EXPECT_FALSE(server_.WaitForRequest("watch", "/api/v1", 1, milliseconds(200)));

  EXPECT_LT(StopTime(watcher), kPrompt);
}

TEST_P(WatcherTest, StopIsPromptWhileConnecting) {
  FullListener listener;
  ApiConfig config = For(server_);
  config.api_root = (GetParam() ? "https://127.0.0.1:" : "http://127.0.0.1:") + listener.port();
  Watcher watcher(config, listener_);
  watcher.Add(kPodX);
  watcher.Start();
  listener.WaitForAttempt();

  EXPECT_LT(StopTime(watcher), kPrompt);
}

TEST_P(WatcherTest, StopIsPromptRightAfterStart) {
  for (int i = 0; i < 20; ++i) {
    Watcher watcher(For(server_), listener_);
    watcher.Add(kPodX);
    watcher.Start();

    EXPECT_LT(StopTime(watcher), kPrompt);
  }
}

TEST_P(WatcherTest, StopIsPromptWhileBackingOff) {
  server_.StopListening();
  Watcher watcher(For(server_), listener_, listener_.OnFailure());
  watcher.Add(kPodX);
  watcher.Start();
  listener_.WaitFor(3);

  EXPECT_LT(StopTime(watcher), kPrompt);
}

TEST_P(WatcherTest, IsAliveUntilAWatchHasFailedForTooLong) {
  ApiConfig config = For(server_);
  config.retry_timeout = seconds(1);
  Watcher watcher(config, listener_, listener_.OnFailure());
  watcher.Add(kPodX);
  watcher.Start();
  ASSERT_TRUE(server_.WaitForWatches(1));
  EXPECT_TRUE(watcher.IsAlive());

  server_.StopListening();
  listener_.WaitFor(1);
  // No event tells when IsAlive() becomes false by the passage of time.
  while (watcher.IsAlive()) std::this_thread::sleep_for(milliseconds(20));
  server_.StartListening();

  EXPECT_TRUE(server_.WaitForWatches(1, seconds(60)));
  while (!watcher.IsAlive()) std::this_thread::sleep_for(milliseconds(20));
}

TEST_P(WatcherTest, AHandlerMayStopTheWatcher) {
  struct Stopper : EventHandler {
    void Handle(const WatchEvent& /*event*/) override { watcher->RequestStop(); }
    Watcher* watcher = nullptr;
  };
  Stopper stopper;
  server_.Create(PodNamed("x"));
  Watcher watcher(For(server_), stopper);
  stopper.watcher = &watcher;
  watcher.Add(kPodX);
  watcher.Start();

  EXPECT_TRUE(server_.WaitForRequest("watch", "/api/v1"));
  EXPECT_TRUE(server_.WaitForWatches(0));
}

TEST_P(WatcherTest, PathsComeAndGoWhileItRuns) {
  Watcher watcher(For(server_), listener_);
  watcher.Start();

  watcher.Add("/api/v1/pods");
  ASSERT_TRUE(server_.WaitForWatches(1));
  watcher.Add(kPodX);
  ASSERT_TRUE(server_.WaitForWatches(2));
  watcher.Remove("/api/v1/pods");

  EXPECT_TRUE(server_.WaitForWatches(1));
}

}  // namespace
}  // namespace kuryr::watcher
