#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/support/subprocess.h"
#include "tests/watcher/listener.h"
#include "tests/watcher/pod_x.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"
#include "watcher/watcher.h"

// Who the watcher trusts, and as whom it asks.

namespace kuryr::watcher {
namespace {

using fake::FakeApiServer;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
