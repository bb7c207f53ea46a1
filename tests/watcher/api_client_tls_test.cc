// What an ApiClient takes for the API server, and what it shows of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/fake_apiserver/fake_api_server.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

using fake::FakeApiServer;
using ::testing::HasSubstr;

constexpr const char* kPods = "/api/v1/pods";

/// What the client makes of a server with that certificate: "trusted", or why not.
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

}  // namespace
}  // namespace kuryr::watcher
