#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "tests/support/kube_api_server.h"

namespace kuryr::test {

/// A suite with one API server, as a start takes 5 s of a processor: its SetUp() removes what other
/// tests left there. Where there is none on this machine, its tests are skipped.
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
  /// Whether a SetUp() that stands on this one has nothing to do.
  [[nodiscard]] static bool HasNoServer() { return IsSkipped() || HasFatalFailure(); }

  static inline std::optional<KubeApiServer> server_;
};

}  // namespace kuryr::test
