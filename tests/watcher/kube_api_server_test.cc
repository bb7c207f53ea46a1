#include "tests/support/kube_api_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/support/kube_api_test.h"
#include "tests/watcher/beginning.h"
#include "tests/watcher/listener.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"
#include "watcher/watcher.h"

namespace kuryr::watcher {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kPod = "/api/v1/namespaces/default/pods/x";

json Pod(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}}},
          {"spec", {{"containers", {{{"name", "c"}, {"image", "none"}}}}}}};
}

json Annotation(const std::string& value) {
  return {{"metadata", {{"annotations", {{"a", value}}}}}};
}

/// "CODE REASON" of the server's refusal.
std::string Refusal(const std::function<void()>& request) {
  try {
    request();
    return "nothing refused";
  } catch (const ApiError& e) {
    return std::to_string(e.code()) + " " + e.reason();
  }
}

/// One server for all tests; no test finds pods of another.
class KubeApiServerTest : public test::KubeApiTest {
 protected:
  void SetUp() override {
    KubeApiTest::SetUp();
    if (HasNoServer()) return;
    ApiClient(AsAdmin()).Delete(kPods);
  }

  ApiConfig With(const Secret& token) const {
    return {.api_root = server_->url(), .ca = {.file = server_->ca_file()}, .token = token};
  }
  ApiConfig AsAdmin() const { return With({.file = server_->token_file()}); }
};

/// Configures user admin: by token (true) or by client certificate.
class KubeApiServerIdentityTest : public KubeApiServerTest,
                                  public ::testing::WithParamInterface<bool> {
 protected:
  ApiConfig Config() const {
    if (GetParam()) return AsAdmin();
    ApiConfig config = With({});
    config.client_cert.file = server_->client_cert_file();
    config.client_key.file = server_->client_key_file();
    return config;
  }
};

INSTANTIATE_TEST_SUITE_P(TokenAndCertificate, KubeApiServerIdentityTest, ::testing::Bool(),
                         [](const auto& parameter) {
                           return parameter.param ? "Token" : "Certificate";
                         });

TEST_P(KubeApiServerIdentityTest, PodsAreCreatedReadPatchedAndDeleted) {
  ApiClient client(Config());

  EXPECT_EQ(client.Post(kPods, Pod("x")).at("status").at("phase"), "Pending");
  EXPECT_EQ(client.Patch(kPod, PatchType::kMerge, Annotation("b")).at("metadata").at("annotations"),
            json({{"a", "b"}}));
  client.Patch(
      kPod, PatchType::kJson,
      json::array({{{"op", "replace"}, {"path", "/metadata/annotations/a"}, {"value", "c"}}}));
  EXPECT_EQ(client.Get(kPod).at("metadata").at("annotations"), json({{"a", "c"}}));
  client.Delete(kPod);

  EXPECT_EQ(client.Get(kPods).at("items"), json::array());
}

TEST_F(KubeApiServerTest, RefusalsAreToldApartByCodeAndReason) {
  ApiClient admin(AsAdmin());
  ApiClient nobody(With({.file = server_->nobody_token_file()}));
  ApiClient stranger(With({.value = "not-a-token"}));
  const auto create = [&] { admin.Post(kPods, Pod("x")); };
  const auto patch_old = [&] {
    admin.Patch(kPod, PatchType::kMerge, {{"metadata", {{"resourceVersion", "1"}}}});
  };
  create();

  EXPECT_EQ(Refusal([&] { (void)stranger.Get(kPod); }), "401 Unauthorized");
  EXPECT_EQ(Refusal([&] { (void)nobody.Get(kPod); }), "403 Forbidden");
  EXPECT_EQ(Refusal([&] { nobody.Patch(kPod, PatchType::kMerge, Annotation("b")); }),
            "403 Forbidden");
  EXPECT_EQ(Refusal([&] { (void)admin.Get(std::string(kPods) + "/y"); }), "404 NotFound");
  EXPECT_EQ(Refusal(create), "409 AlreadyExists");
  EXPECT_EQ(Refusal(patch_old), "409 Conflict");
}

TEST_F(KubeApiServerTest, ACompactedVersionIsGone) {
  ApiClient client(AsAdmin());
  const json first = client.Post(kPods, Pod("x"));
  client.Patch(kPod, PatchType::kMerge, Annotation("b"));
  const std::string list_then =
      std::string(kPods) + "?limit=1&resourceVersionMatch=Exact" +
      "&resourceVersion=" + first.at("metadata").at("resourceVersion").get<std::string>();
  ASSERT_EQ(client.Get(list_then).at("items").at(0).at("metadata").at("uid"),
            first.at("metadata").at("uid"));

  server_->Compact();
  // From 1.34 on a server answers of the past by what it remembers itself.
  server_->KillApiServer();
  server_->StartApiServer();

  EXPECT_EQ(Refusal([&] { (void)client.Get(list_then); }), "410 Expired");
}

TEST_F(KubeApiServerTest, AWatcherHearsThePresentStateThenEveryChange) {
  ApiClient client(AsAdmin());
  client.Post(kPods, Pod("x"));
  Listener listener;
  Watcher watcher(AsAdmin(), listener);
  watcher.Add(std::string(kPods) + "?fieldSelector=metadata.name%3Dx");

  watcher.Start();
  EXPECT_THAT(listener.WaitFor(1), ElementsAre("ADDED x"));
  client.Patch(kPod, PatchType::kMerge, Annotation("b"));
  client.Delete(kPod);

  // The second MODIFIED bears the deletionTimestamp.
  EXPECT_THAT(listener.WaitFor(4), ElementsAre("ADDED x", "MODIFIED x", "MODIFIED x", "DELETED x"));
}

TEST_F(KubeApiServerTest, AWatchBeginsAtTheVersionOfItsCallersRead) {
  ApiClient client(AsAdmin());
  client.Post(kPods, Pod("x"));
  const std::string path = std::string(kPods) + "?fieldSelector=metadata.name%3Dx";
  Beginning begin = ReadOf(AsAdmin(), path);
  client.Patch(kPod, PatchType::kMerge, Annotation("1"));
  Listener listener;
  Watcher watcher(AsAdmin(), listener, listener.OnFailure());

  watcher.Add(path, WatchMode::kPresentState, {.begin = std::move(begin)});
  watcher.Start();

  EXPECT_THAT(listener.WaitFor(1), ElementsAre("MODIFIED x"));
}

TEST_F(KubeApiServerTest, AWatcherOutlivesAServerThatIsKilled) {
  ApiClient(AsAdmin()).Post(kPods, Pod("x"));
  Listener listener;
  Watcher watcher(AsAdmin(), listener);
  watcher.Add(std::string(kPods) + "?fieldSelector=metadata.name%3Dx");
  watcher.Start();
  ASSERT_THAT(listener.WaitFor(1), ElementsAre("ADDED x"));

  server_->KillApiServer();
  EXPECT_THROW((void)ApiClient(AsAdmin()).Get(kPod), ApiUnavailable);
  server_->StartApiServer();
  // The next attempt may be 30 s away after the failed ones.
  static_cast<void>(listener.WaitFor(2));

  EXPECT_THAT(listener.WaitFor(2), ElementsAre("ADDED x", "ADDED x"));
}

}  // namespace
}  // namespace kuryr::watcher
