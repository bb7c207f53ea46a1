// Which servers an ApiClient trusts as the API server, and which credentials it shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <semaphore>
#include <string>

#include "tests/fake_apiserver/fake_api_server.h"
#include "tests/fake_apiserver/http_message.h"
#include "tests/fake_apiserver/server.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"
#include "watcher/credentials.h"

namespace kuryr::watcher {
namespace {

using fake::FakeApiServer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPods = "/api/v1/pods";

/// The client's verdict on a server with that certificate: "trusted", or why not.
std::string Verdict(const std::string& certificate, const std::string& authorities) {
  fake::TlsFiles files = fake::TestTls();
  files.certificate = fake::CertificateFile(certificate);
  const FakeApiServer server(fake::Options{.tls = files});
  ApiClient client({.api_root = server.url(), .ca = {.file = fake::CertificateFile(authorities)}});
  try {
    (void)client.Get(kPods);
    return "trusted";
  } catch (const ApiUntrusted& e) {
    return e.what();
  }
}

/// The name that a client sends in its handshake (SNI) when it reaches the server by `host`.
std::string NameSent(const std::string& host, const std::string& tls_server_name,
                     bool verify_server = true) {
  const fake::Server server("127.0.0.1", 0, fake::TestTls(), [](fake::Connection& connection) {
    if (!fake::ReadRequest(connection)) return;
    const nlohmann::json name = {{"name", connection.server_name()}};
    (void)fake::WriteAnswer(connection, {.body = name.dump()}, false);
  });
  ApiClient client({.api_root = "https://" + host + ":" + std::to_string(server.port()),
                    .tls_server_name = tls_server_name,
                    .ca = {.file = FakeApiServer::ca_file()},
                    .verify_server = verify_server});
  return client.Get(kPods).at("name");
}

TEST(ApiClientTlsTest, AnIntermediateAuthorityAloneIsTrusted) {
  EXPECT_EQ(Verdict("by-intermediate.crt", "intermediate.crt"), "trusted");
}

TEST(ApiClientTlsTest, AnAuthorityIsTrustedThroughAnIntermediateOne) {
  EXPECT_EQ(Verdict("by-intermediate.crt", "ca.crt"), "trusted");
}

TEST(ApiClientTlsTest, WhatAnotherAuthoritySignedIsRefused) {
  EXPECT_THAT(Verdict("by-intermediate.crt", "other-ca.crt"), HasSubstr("certificate refused"));
  EXPECT_THAT(Verdict("server.crt", "intermediate.crt"), HasSubstr("certificate refused"));
}

/// A server that closes a connection after the first answer, although the answer allows more
/// requests. Go's server does so after a while.
class ServerThatClosesIdleConnections {
 public:
  explicit ServerThatClosesIdleConnections(const std::optional<fake::TlsFiles>& tls)
      : server_("127.0.0.1", 0, tls, [this](fake::Connection& connection) {
          if (fake::ReadRequest(connection)) ++requests_;
          (void)fake::WriteAnswer(connection, {.body = "{}"}, true);
          connection.Close();
          closed_.release();
        }) {}

  [[nodiscard]] std::string authority() const {
    return "127.0.0.1:" + std::to_string(server_.port());
  }
  [[nodiscard]] int requests() const { return requests_; }
  [[nodiscard]] bool WaitForClose() { return closed_.try_acquire_for(std::chrono::seconds(10)); }

 private:
  std::atomic<int> requests_ = 0;
  std::counting_semaphore<> closed_{0};
  fake::Server server_;
};

TEST(ApiClientTlsTest, AConnectionThatTheServerClosedWhileIdleIsNotUsedAgain) {
  for (const bool tls : {true, false}) {
    ServerThatClosesIdleConnections server(tls ? std::optional(fake::TestTls()) : std::nullopt);
    ApiClient client({.api_root = (tls ? "https://" : "http://") + server.authority(),
                      .ca = {.file = FakeApiServer::ca_file()}});
    for (int i = 0; i < 3; ++i) {
      EXPECT_NO_THROW(client.Post(kPods, nlohmann::json::object())) << i << " tls: " << tls;
      ASSERT_TRUE(server.WaitForClose());
    }
    EXPECT_EQ(server.requests(), 3);
  }
}

TEST(ApiClientTlsTest, AConnectionThatIsOpenIsUsedAgain) {
  std::atomic<int> connections = 0;
  const fake::Server server("127.0.0.1", 0, fake::TestTls(), [&](fake::Connection& connection) {
    ++connections;
    while (fake::ReadRequest(connection)) {
      (void)fake::WriteAnswer(connection, {.body = "{}"}, true);
    }
  });
  ApiClient client({.api_root = "https://127.0.0.1:" + std::to_string(server.port()),
                    .ca = {.file = FakeApiServer::ca_file()}});

  for (int i = 0; i < 3; ++i) client.Post(kPods, nlohmann::json::object());

  EXPECT_EQ(connections, 1);
}

TEST(ApiClientTlsTest, TheServerIsAskedForByName) {
  EXPECT_EQ(NameSent("localhost", ""), "localhost");
  EXPECT_EQ(NameSent("127.0.0.1", "localhost"), "localhost");
  EXPECT_EQ(NameSent("127.0.0.1", "other.example", false), "other.example");
}

TEST(ApiClientTlsTest, AnAddressIsNoNameToAskFor) {
  EXPECT_EQ(NameSent("127.0.0.1", ""), "");
  EXPECT_EQ(NameSent("localhost", "127.0.0.1"), "");
  EXPECT_EQ(NameSent("localhost", "::1"), "");
}

TEST(ApiClientTlsTest, ANameWithTheRootsDotIsTheNameWithoutIt) {
  EXPECT_EQ(NameSent("127.0.0.1", "localhost."), "localhost");
}

TEST(ApiClientTlsTest, ATokenAndACertificateAreBothShown) {
  fake::TlsFiles files = fake::TestTls();
  files.client_ca = fake::CertificateFile("ca.crt");
  files.require_client_certificate = true;
  const FakeApiServer server(
      fake::Options{.tls = files, .users = {{.name = "kuryr", .token = "good"}}});
  ApiClient client({.api_root = server.url(),
                    .ca = {.file = FakeApiServer::ca_file()},
                    .client_cert = {.file = fake::CertificateFile("client.crt")},
                    .client_key = {.file = fake::CertificateFile("client.key")},
                    .token = {.value = "good"}});

  EXPECT_EQ(client.Get(kPods).at("kind"), "PodList");
  EXPECT_EQ(server.Requests().at(0).authorization, "Bearer good");
}

TEST(ApiClientTlsTest, WithoutTlsNoTokenIsSent) {
  const FakeApiServer server(fake::Options{.users = {{.name = "kuryr", .token = "good"}}});
  ApiClient client({.api_root = server.url(), .token = {.value = "good"}});

  try {
    (void)client.Get(kPods);
    FAIL();
  } catch (const ApiError& e) {
    EXPECT_EQ(e.code(), 403);
    EXPECT_THAT(e.what(), HasSubstr("as anonymous, since http has no identity sent"));
  }
  EXPECT_EQ(server.Requests().at(0).authorization, "");
}

std::string WarningOf(const ApiConfig& config, const std::string& unverified_by = "") {
  ::testing::internal::CaptureStderr();
  WarnOfInsecureApi(config, unverified_by);
  return ::testing::internal::GetCapturedStderr();
}

TEST(ApiClientTlsTest, AServerThatIsNotVerifiedIsWarnedOf) {
  const std::string secure = "https://127.0.0.1:8080";

  EXPECT_THAT(
      WarningOf({.api_root = secure, .verify_server = false}, "kuryr.conf"),
      AllOf(HasSubstr("certificate is not verified"), HasSubstr("switched_off_by=kuryr.conf")));
  EXPECT_EQ(WarningOf({.api_root = secure}), "");
}

TEST(ApiClientTlsTest, AnIdentityThatIsNotSentIsWarnedOf) {
  const std::string clear = "http://127.0.0.1:8080";

  EXPECT_THAT(WarningOf({.api_root = clear, .token = {.value = "s3cret"}}),
              AllOf(HasSubstr("level=warning"), HasSubstr("sent no token"), HasSubstr(clear),
                    Not(HasSubstr("s3cret"))));
  EXPECT_THAT(WarningOf({.api_root = clear, .client_cert = {.file = "/pki/it"}}),
              HasSubstr("no client certificate"));
  EXPECT_EQ(WarningOf({.api_root = "https://127.0.0.1:8080", .token = {.value = "s3cret"}}), "");
  EXPECT_EQ(WarningOf({.api_root = clear}), "");
}

}  // namespace
}  // namespace kuryr::watcher
