#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/support/kube_api_server.h"
#include "watcher/api_client.h"
#include "watcher/api_error.h"

namespace kuryr::test {

/// A real API server of the test's own; the test is its administrator.
class KubeApiTest : public ::testing::Test {
 protected:
  using json = nlohmann::json;
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";

  void SetUp() override {
    if (const auto why = KubeApiServer::Unavailable()) GTEST_SKIP() << "SKIPPED: " << *why;
    server_.emplace();
    api_.emplace(Config());
    api_->Post("/api/v1/namespaces/default/serviceaccounts", {{"metadata", {{"name", "default"}}}});
  }
  [[nodiscard]] watcher::ApiConfig Config() const {
    return {.api_root = server_->url(),
            .ca = {.file = server_->ca_file()},
            .token = {.file = server_->token_file()}};
  }
  /// Creates a CustomResourceDefinition; adds the type to `definition`.
  void Define(json definition) {
    definition["apiVersion"] = "apiextensions.k8s.io/v1";
    definition["kind"] = "CustomResourceDefinition";
    api_->Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  }
  /// Creates a pod on node1; returns it as the API server has it.
  json CreatePod(const std::string& name, json metadata = json::object()) {
    metadata["name"] = name;
    return api_->Post(kPods, {{"metadata", metadata},
                              {"spec",
                               {{"nodeName", "node1"},
                                {"automountServiceAccountToken", false},
                                {"containers", {{{"name", "c"}, {"image", "none"}}}}}}});
  }
  /// Returns the object as soon as the condition is true of it; the newest after 30 s.
  json WaitFor(const std::string& path, const std::function<bool(const json& object)>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    json object;
    do {
      try {
        object = api_->Get(path);
      } catch (const watcher::ApiError& e) {
        if (e.code() != watcher::ApiError::kNotFound) throw;
      }
    } while (!condition(object) && std::chrono::steady_clock::now() < until);
    return object;
  }

  std::optional<KubeApiServer> server_;
  std::optional<watcher::ApiClient> api_;
};

}  // namespace kuryr::test
