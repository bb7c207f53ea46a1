#include "watcher/api_client.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/fake_apiserver/fake_api_server.h"
#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

using nlohmann::json;

constexpr const char* kPod = "/api/v1/namespaces/default/pods/x";

class ApiClientTest : public ::testing::Test {
 protected:
  fake::FakeApiServer server_{fake::Options{.tls = fake::TestTls()}};
  ApiClient client_{
      ApiConfig{.api_root = server_.url(), .ca = {.file = fake::FakeApiServer::ca_file()}}};
};

TEST_F(ApiClientTest, ObjectsAreCreatedReadPatchedAndDeleted) {
  client_.Post("/api/v1/namespaces/default/pods",
               {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "x"}}}});
  client_.Patch(kPod, PatchType::kMerge, {{"metadata", {{"annotations", {{"a", "b"}}}}}});
  client_.Patch(
      kPod, PatchType::kJson,
      json::array({{{"op", "replace"}, {"path", "/metadata/annotations/a"}, {"value", "c"}}}));

  EXPECT_EQ(client_.Get(kPod)["metadata"]["annotations"]["a"], "c");

  client_.Delete(kPod);
}

TEST_F(ApiClientTest, ARefusalIsATypedValue) {
  try {
    (void)client_.Get(kPod);
    FAIL();
  } catch (const ApiError& e) {
    EXPECT_EQ(e.code(), 404);
    EXPECT_EQ(e.reason(), "NotFound");
    EXPECT_STREQ(e.what(),
                 "API server answered 404: pods \"x\" not found "
                 "(GET /api/v1/namespaces/default/pods/x as anonymous)");
  }
}

TEST_F(ApiClientTest, RetryAfterIsTold) {
  server_.Inject(fake::Fault::TooManyRequests(7));

  try {
    (void)client_.Get(kPod);
    FAIL();
  } catch (const ApiError& e) {
    EXPECT_EQ(e.code(), 429);
    EXPECT_EQ(e.retry_after(), std::chrono::seconds(7));
  }
}

TEST_F(ApiClientTest, ASinkThatThrowsDoesNotBreakTheNextRequest) {
  constexpr std::chrono::seconds kMinute{60};
  server_.Create({{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "x"}}}});
  const auto thrower = [](std::string_view) -> bool { throw std::runtime_error("from the sink"); };

  EXPECT_THROW(client_.Stream(kPod, {.lifetime = kMinute, .silence = kMinute}, thrower),
               std::runtime_error);

  EXPECT_EQ(client_.Get(kPod)["metadata"]["name"], "x");
}

TEST_F(ApiClientTest, AfterStopNothingIsAsked) {
  client_.Stop();

  EXPECT_THROW((void)client_.Get(kPod), ApiUnavailable);
  EXPECT_TRUE(server_.Requests().empty());
}

}  // namespace
}  // namespace kuryr::watcher
