#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "tests/support/kube_api_server.h"

namespace kuryr::test {

/// A suite with one API server, since a start takes 5 s of a processor. Its SetUp() removes what
/// other tests left there. Its tests are skipped if this machine has no API server.
class KubeApiTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeApiServer::Unavailable()) server_.emplace();
  }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override {
    if (const auto reason = KubeApiServer::Unavailable()) GTEST_SKIP() << *reason;
    ASSERT_TRUE(server_) << "the suite's API server did not start";
  }
  /// Whether a derived SetUp() must stop: there is no server.
  [[nodiscard]] static bool HasNoServer() { return IsSkipped() || HasFatalFailure(); }

  static inline std::optional<KubeApiServer> server_;
};

}  // namespace kuryr::test
