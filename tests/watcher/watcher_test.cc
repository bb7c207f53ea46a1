#include "watcher/watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/support/subprocess.h"
#include "tests/watcher/beginning.h"
#include "tests/watcher/listener.h"
#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

using fake::FakeApiServer;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPodX = "/api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dx";

json PodNamed(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}};
}

ApiConfig For(const FakeApiServer& server) {
  return {.api_root = server.url(), .ca = {.file = FakeApiServer::ca_file()}};
}

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

std::vector<std::string> VerbsOf(const FakeApiServer& server) {
  std::vector<std::string> verbs;
  for (const auto& request : server.Requests()) verbs.push_back(request.verb);
  return verbs;
}

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

TEST(WatcherRightsTest, WhatMayOnlyBeWatchedIsWatchedAgain) {
  FakeApiServer server(
      fake::Options{.tls = fake::TestTls(),
                    .users = {{.name = "kuryr", .token = "good", .verbs = {"watch:pods"}}}});
  server.Create(PodNamed("x"));
  server.Inject(fake::Fault::Lagging("/api/v1", 1));
  Listener listener;
  ApiConfig config = For(server);
  config.token = {.value = "good"};
  Watcher watcher(config, listener);
  watcher.Add(kPodX);
  watcher.Start();

  EXPECT_THAT(listener.WaitFor(1), ElementsAre("ADDED x"));
  EXPECT_THAT(VerbsOf(server), ElementsAre("watch", "list", "watch"));
}

class WatcherTlsTest : public ::testing::Test {
 protected:
  FakeApiServer server_{
      fake::Options{.tls = fake::TestTls(), .users = {{.name = "kuryr", .token = "good"}}}};
  Listener listener_;

  /// The third failure; the first two are told as temporary ones.
  std::string LastingFailure(ApiConfig config) {
    config.refusal_grace = std::chrono::seconds(0);
    Watcher watcher(config, listener_, listener_.OnFailure());
    watcher.Add(kPodX);
    watcher.Start();
    const auto heard = listener_.WaitFor(3);
    return heard.size() < 3 ? "nothing" : heard[2];
  }
  static std::string TokenFile(const std::string& token) {
    std::string pattern = ::testing::TempDir() + "kuryr-token-XXXXXX";
    const UniqueFd fd(::mkstemp(pattern.data()));
    std::ofstream(pattern) << token;
    return pattern;
  }
};

TEST_F(WatcherTlsTest, AnUnknownAuthorityIsRefused) {
  EXPECT_THAT(LastingFailure({.api_root = server_.url(),
                              .ca = {.file = fake::CertificateFile("other-ca.crt")}}),
              AllOf(HasSubstr("untrusted: "), HasSubstr("certificate refused")));
  EXPECT_TRUE(server_.Requests().empty());
}

TEST_F(WatcherTlsTest, ACertificateForAnotherAddressIsRefused) {
  FakeApiServer everywhere(fake::Options{.address = "0.0.0.0", .tls = fake::TestTls()});
  ApiConfig config = For(everywhere);
  config.api_root = "https://127.0.0.2:" + std::to_string(everywhere.port());

  EXPECT_THAT(LastingFailure(config),
              AllOf(HasSubstr("untrusted: "), HasSubstr("IP address mismatch")));
}

TEST_F(WatcherTlsTest, AnIpv6ServerIsVerifiedByItsAddress) {
  FakeApiServer server(fake::Options{.address = "::1", .tls = fake::TestTls()});
  server.Create(PodNamed("x"));
  Watcher watcher(For(server), listener_, listener_.OnFailure());
  watcher.Add(kPodX);
  watcher.Start();

  EXPECT_THAT(listener_.WaitFor(1), ElementsAre("ADDED x"));
}

TEST_F(WatcherTlsTest, ACertificateForAnotherNameIsRefused) {
  fake::TlsFiles files = fake::TestTls();
  files.certificate = fake::CertificateFile("other-name.crt");
  FakeApiServer server(fake::Options{.tls = files});
  ApiConfig config = For(server);
  config.api_root = "https://localhost:" + std::to_string(server.port());

  EXPECT_THAT(LastingFailure(config),
              AllOf(HasSubstr("untrusted: "), HasSubstr("hostname mismatch")));
}

TEST_F(WatcherTlsTest, AnExpiredCertificateIsRefused) {
  fake::TlsFiles files = fake::TestTls();
  files.certificate = fake::CertificateFile("expired.crt");
  FakeApiServer server(fake::Options{.tls = files});

  EXPECT_THAT(LastingFailure(For(server)), HasSubstr("certificate has expired"));
}

TEST_F(WatcherTlsTest, AServerThatKnowsOnlyTls10IsRefusedAndTheVersionNamed) {
  test::Process server(
      {.argv = {"openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-tls1", "-cipher",
                "ALL:@SECLEVEL=0", "-cert", fake::CertificateFile("server.crt"), "-key",
                fake::CertificateFile("server.key")}});
  const std::string accept = "ACCEPT ";
  server.WaitForOutput(accept + "127.0.0.1:");
  const size_t at = server.output().find(accept) + accept.size();
  ApiConfig config = For(server_);
  config.api_root = "https://" + server.output().substr(at, server.output().find('\n', at) - at);

  EXPECT_THAT(LastingFailure(config),
              AllOf(HasSubstr("TLS handshake failed"), HasSubstr("version")));
}

TEST_F(WatcherTlsTest, AMissingAuthorityFileIsNamed) {
  EXPECT_THAT(LastingFailure({.api_root = server_.url(), .ca = {.file = "/nowhere/ca.crt"}}),
              HasSubstr("/nowhere/ca.crt"));
}

TEST_F(WatcherTlsTest, AnonymousIsForbiddenAndTheMessageNamesTheResource) {
  EXPECT_THAT(
      LastingFailure(For(server_)),
      HasSubstr(
          "403: API server answered 403: pods \"x\" is forbidden: User \"system:anonymous\""));
}

TEST_F(WatcherTlsTest, WhatIsForbiddenForAMomentIsAServerThatIsNotAvailable) {
  fake::Fault starting = fake::Fault::Status(403, "the roles are not read yet");
  starting.count = 4;
  server_.Inject(starting);
  server_.Create(PodNamed("x"));
  ApiConfig config = For(server_);
  config.token = {.value = "good"};
  Watcher watcher(config, listener_, listener_.OnFailure());
  watcher.Add(kPodX);
  watcher.Start();

  const auto unavailable = AllOf(HasSubstr("unavailable: "), HasSubstr("403"));
  EXPECT_THAT(listener_.WaitFor(5),
              ElementsAre(unavailable, unavailable, unavailable, unavailable, "ADDED x"));
}

TEST_F(WatcherTlsTest, RefusalsWithAnotherFailureBetweenThemHaveNotLasted) {
  // After the 503 the pods are read anew: that list is refused before the watch is.
  for (const int code : {403, 403, 503, 403, 403})
    server_.Inject(fake::Fault::Status(code, "not now"));
  server_.Create(PodNamed("x"));
  ApiConfig config = For(server_);
  config.token = {.value = "good"};
  config.refusal_grace = seconds(0);
  Watcher watcher(config, listener_, listener_.OnFailure());
  watcher.Add(kPodX);
  watcher.Start();

  const auto unavailable = AllOf(HasSubstr("unavailable: "), HasSubstr("403"));
  EXPECT_THAT(listener_.WaitFor(5),
              ElementsAre(unavailable, unavailable, HasSubstr("503"), unavailable, "ADDED x"));
}

TEST_F(WatcherTlsTest, ATokenThatRotatesIsReadAnew) {
  const std::string file = TokenFile("old");
  ApiConfig config = For(server_);
  config.token = {.file = file};
  Watcher watcher(config, listener_, listener_.OnFailure());
  watcher.Add(kPodX);
  watcher.Start();
  EXPECT_THAT(listener_.WaitFor(1), ElementsAre(HasSubstr("401")));

  std::ofstream(file) << "good\n";

  EXPECT_TRUE(server_.WaitForWatches(1));
  std::filesystem::remove(file);
}

TEST_F(WatcherTlsTest, ATokenWithALineBreakInsideCannotForgeAHeader) {
  const std::string file = TokenFile("good\rX-Forged: yes");
  ApiConfig config = For(server_);
  config.token = {.file = file};

  EXPECT_THAT(LastingFailure(config), HasSubstr("characters that no bearer token has"));
  EXPECT_TRUE(server_.Requests().empty());
  std::filesystem::remove(file);
}

TEST_F(WatcherTlsTest, AClientCertificateIsPresented) {
  fake::TlsFiles files = fake::TestTls();
  files.client_ca = fake::CertificateFile("ca.crt");
  FakeApiServer server(fake::Options{.tls = files});
  ApiConfig config = For(server);
  config.client_cert.file = fake::CertificateFile("client.crt");
  config.client_key.file = fake::CertificateFile("client.key");
  server.Create(PodNamed("x"));
  Watcher watcher(config, listener_, listener_.OnFailure());
  watcher.Add(kPodX);
  watcher.Start();

  EXPECT_THAT(listener_.WaitFor(1), ElementsAre("ADDED x"));
}

TEST_F(WatcherTlsTest, AClientCertificateThatRotatesIsReadAnew) {
  fake::TlsFiles files = fake::TestTls();
  files.client_ca = fake::CertificateFile("ca.crt");
  FakeApiServer server(fake::Options{.tls = files, .users = {{.name = "test-client"}}});
  const std::string certificate = TokenFile("none yet");
  ApiConfig config = For(server);
  config.client_cert.file = certificate;
  config.client_key.file = fake::CertificateFile("client.key");
  ApiClient client(config);
  EXPECT_THROW((void)client.Get("/api/v1/pods"), ApiUntrusted);
  Watcher watcher(config, listener_, listener_.OnFailure());
  watcher.Add(kPodX);
  watcher.Start();
  EXPECT_THAT(listener_.WaitFor(1), ElementsAre(HasSubstr(certificate)));

  std::filesystem::copy_file(fake::CertificateFile("client.crt"), certificate,
                             std::filesystem::copy_options::overwrite_existing);

  EXPECT_TRUE(server.WaitForWatches(1));
  EXPECT_EQ(client.Get("/api/v1/pods")["kind"], "PodList");
  std::filesystem::remove(certificate);
}

TEST_F(WatcherTlsTest, TheServersNameMayBeAnotherThanTheOneItIsReachedBy) {
  fake::TlsFiles files = fake::TestTls();
  files.certificate = fake::CertificateFile("other-name.crt");
  FakeApiServer server(fake::Options{.tls = files});
  ApiConfig config = For(server);
  config.tls_server_name = "other.example";

  EXPECT_EQ(ApiClient(config).Get("/api/v1/pods")["kind"], "PodList");
}

TEST_F(WatcherTlsTest, WithoutVerificationAnyServerWillDo) {
  const std::string file = TokenFile("good");
  server_.Create(PodNamed("x"));
  Watcher watcher({.api_root = server_.url(), .token = {.file = file}, .verify_server = false},
                  listener_, listener_.OnFailure());
  watcher.Add(kPodX);
  watcher.Start();

  EXPECT_THAT(listener_.WaitFor(1), ElementsAre("ADDED x"));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace kuryr::watcher
