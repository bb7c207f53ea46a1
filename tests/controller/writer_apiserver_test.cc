#include "controller/writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "controller/pod_store.h"
#include "tests/support/kube_api_server.h"
#include "watcher/api_client.h"

// Who has put a pod's finalizer on it, as a real API server's managedFields tell.

namespace kuryr::controller {
namespace {

using nlohmann::json;
using test::KubeApiServer;
using watcher::PatchType;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class WriterApiServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = KubeApiServer::Unavailable()) GTEST_SKIP() << "SKIPPED: " << *why;
    server_.emplace();
    api_.emplace(watcher::ApiConfig{.api_root = server_->url(),
                                    .ca = {.file = server_->ca_file()},
                                    .token = {.file = server_->token_file()}});
    api_->Post("/api/v1/namespaces/default/serviceaccounts", {{"metadata", {{"name", "default"}}}});
  }
  json CreatePod(const std::string& name) {
    return api_->Post(kPods, {{"metadata", {{"name", name}}},
                              {"spec",
                               {{"automountServiceAccountToken", false},
                                {"containers", {{{"name", "c"}, {"image", "none"}}}}}}});
  }
  json Patch(const std::string& path, const json& patch) {
    return api_->Patch(path, PatchType::kMerge, patch);
  }

  std::optional<KubeApiServer> server_;
  std::optional<watcher::ApiClient> api_;
};

TEST_F(WriterApiServerTest, FinalizerIsOfWhoHasPutIt) {
  PodStore store({}, [](const std::string&) {});
  Writer writer(*api_, store, [] { return true; });
  const json finalizers = {{"finalizers", {"example.org/own", kPodFinalizer}}};
  const auto created = watcher::MakeEvent(watcher::EventType::kAdded, CreatePod("ours"));
  writer.PatchPod(PodFactsOf(created, {}), finalizers);

  const json ours =
      Patch(PodPath("default", "ours") + "/status", {{"status", {{"phase", "Running"}}}});
  CreatePod("others");
  const json others = Patch(PodPath("default", "others"), {{"metadata", finalizers}});

  EXPECT_TRUE(HasPutFinalizer(ours)) << ours;
  EXPECT_FALSE(HasPutFinalizer(others)) << others;
}

}  // namespace
}  // namespace kuryr::controller
