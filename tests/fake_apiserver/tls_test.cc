#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/fake_apiserver/captures.h"
#include "tests/fake_apiserver/fake_api_server.h"

// Uses the client of the programs, so that both meet in a handshake at least once.

namespace kuryr::fake {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TlsFiles ServerWith(const std::string& certificate) {
  TlsFiles files = TestTls();
  files.certificate = CertificateFile(certificate);
  return files;
}

TlsFiles AskingForCertificates() {
  TlsFiles files = TestTls();
  files.client_ca = CertificateFile("ca.crt");
  files.require_client_certificate = true;
  return files;
}

httplib::Result GetVersion(httplib::SSLClient& client, const std::string& ca = "ca.crt") {
  client.set_ca_cert_path(CertificateFile(ca));
  client.enable_server_certificate_verification(true);
  return client.Get("/version");
}

TEST(TlsTest, ServesOverBothFamilies) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const FakeApiServer server({.address = address, .tls = TestTls()});
    // Connects by name: against an IPv6 address, cpp-httplib 0.11.4 reads past the certificate's
    // shorter entries.
    httplib::SSLClient client("localhost", server.port());
    client.set_hostname_addr_map({{"localhost", address}});

    const auto result = GetVersion(client);

    ASSERT_TRUE(result) << address << " " << httplib::to_string(result.error());
    EXPECT_EQ(result->status, 200);
  }
}

TEST(TlsTest, UrlNamesSchemeAndBrackets) {
  const FakeApiServer server({.address = "::1", .tls = TestTls()});

  EXPECT_EQ(server.url(), "https://[::1]:" + std::to_string(server.port()));
}

TEST(TlsTest, StrangersAuthorityIsNotTrusted) {
  const FakeApiServer server({.tls = TestTls()});
  httplib::SSLClient client("127.0.0.1", server.port());

  EXPECT_EQ(GetVersion(client, "other-ca.crt").error(), httplib::Error::SSLServerVerification);
}

TEST(TlsTest, ExpiredAndMisnamedCertificatesAreNotTrusted) {
  for (const char* certificate : {"expired.crt", "other-name.crt"}) {
    const FakeApiServer server({.tls = ServerWith(certificate)});
    httplib::SSLClient client("127.0.0.1", server.port());

    EXPECT_THAT(httplib::to_string(GetVersion(client).error()), HasSubstr("erification"))
        << certificate;
  }
}

TEST(TlsTest, MissingCertificateIsNamed) {
  TlsFiles files = TestTls();
  files.certificate = "/nonexistent.crt";

  EXPECT_THROW(FakeApiServer({.tls = files}), std::runtime_error);
}

TEST(TlsTest, ClientCertificateStandsForItsUser) {
  FakeApiServer server({.tls = AskingForCertificates(), .users = {{.name = "test-client"}}});
  server.Create({{"kind", "Pod"}, {"metadata", {{"name", "x"}}}});
  httplib::SSLClient client("127.0.0.1", server.port(), CertificateFile("client.crt"),
                            CertificateFile("client.key"));
  ASSERT_TRUE(GetVersion(client));

  const auto result = client.Get("/api/v1/namespaces/default/pods/x");

  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
}

TEST(TlsTest, ClientWithoutCertificateIsTurnedAway) {
  const FakeApiServer server({.tls = AskingForCertificates()});
  httplib::SSLClient client("127.0.0.1", server.port());

  EXPECT_FALSE(GetVersion(client));
}

TEST(TlsTest, WatchWithAClientCertificateStreamsAsCaptured) {
  const auto capture = LoadCapture("watch-client-cert");
  FakeApiServer server({.tls = AskingForCertificates(), .users = {{.name = "test-client"}}});
  server.Create({{"kind", "Pod"}, {"metadata", {{"name", "y"}}}});
  const json big = ParseEvents(capture.answer.body).at(0).at("object");
  server.Create({{"kind", "Pod"},
                 {"metadata", {{"name", "big"}, {"annotations", big["metadata"]["annotations"]}}}});
  httplib::SSLClient client("127.0.0.1", server.port(), CertificateFile("client.crt"),
                            CertificateFile("client.key"));
  client.set_ca_cert_path(CertificateFile("ca.crt"));
  server.Inject({.kind = Fault::Kind::kTamper, .tamper = {.end_after_events = 2}});

  const auto result = client.Get("/api/v1/namespaces/default/pods?watch=true&timeoutSeconds=2");

  ASSERT_TRUE(result) << httplib::to_string(result.error());
  const auto events = ParseEvents(result->body);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["object"]["metadata"]["annotations"], big["metadata"]["annotations"]);
  EXPECT_EQ(events[1]["object"]["metadata"]["name"], "y");
}

TEST(TlsTest, HandshakeHangsOnRequest) {
  FakeApiServer server({.tls = TestTls()});
  server.HangConnections(1);
  httplib::SSLClient impatient("127.0.0.1", server.port());
  impatient.set_connection_timeout(std::chrono::milliseconds(20));
  httplib::SSLClient patient("127.0.0.1", server.port());

  EXPECT_FALSE(GetVersion(impatient));
  EXPECT_TRUE(GetVersion(patient));
}

TEST(TlsTest, ClientThatSpeaksNoTlsIsDropped) {
  const FakeApiServer server({.tls = TestTls()});
  RawClient client(server.port());

  client.Send(GetRequest("/version"));

  EXPECT_EQ(client.ReadToEnd().find("HTTP/"), std::string::npos);
}

}  // namespace
}  // namespace kuryr::fake
