#include "watcher/api_client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>

#include "base/unique_fd.h"
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

std::string FailureAt(const std::string& api_root) {
  try {
    (void)ApiClient(ApiConfig{.api_root = api_root}).Get(std::string(kPod) + "?resourceVersion=7");
  } catch (const ApiUnavailable& e) {
    EXPECT_EQ(e.what(), e.cause() + " (GET " + kPod + ")");
    return e.cause();
  }
  return "";
}

/// A bound port of this host on which nobody listens.
class UnusedPort {
 public:
  UnusedPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address_);
    socklen_t size = sizeof address_;
    EXPECT_EQ(::bind(socket_.get(), any, size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), any, &size), 0);
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
  }

 private:
  const UniqueFd socket_;
  sockaddr_in address_{};
};

TEST(ApiConnectionTest, AFailureSaysWhyAndWhatWasAsked) {
  const UnusedPort port;
  EXPECT_EQ(FailureAt(port.url()),
            "API server " + port.url() + ": cannot connect: Connection refused");
  EXPECT_THAT(FailureAt("https://api.kuryr.invalid:6443"),
              ::testing::StartsWith("API server https://api.kuryr.invalid:6443: cannot connect: "
                                    "no such host: api.kuryr.invalid ("));
}

TEST_F(ApiClientTest, AfterStopNothingIsAsked) {
  client_.Stop();

  EXPECT_THROW((void)client_.Get(kPod), ApiUnavailable);
  EXPECT_TRUE(server_.Requests().empty());
}

}  // namespace
}  // namespace kuryr::watcher
