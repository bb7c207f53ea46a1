#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/log.h"
#include "controller/election/lease.h"
#include "controller/owners/pod_facts.h"
#include "tests/controller/commands/run_command.h"
#include "tests/controller/kube_api_fixture.h"
#include "watcher/pod_event.h"

// kuryr-controller's commands on a real API server.

namespace kuryr::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class CommandsApiServerTest : public KubeApiTest {
 protected:
  void SetUp() override {
    KubeApiTest::SetUp();
    if (!server_) return;
    conf_ = server_->folder() / "kuryr.conf";
    std::ofstream(conf_) << "[kubernetes]\napi_root = " << server_->url()
                         << "\nssl_ca_crt_file = " << server_->ca_file()
                         << "\ntoken_file = " << server_->token_file() << "\n";
    api_->Post("/api/v1/nodes", {{"metadata", {{"name", "node1"}}}});
  }

  std::string conf_;
};

TEST_F(CommandsApiServerTest, StatusFindsLeaderAndEventAndOrphansEndsADeletedPod) {
  api_->Post(controller::LeasesPath("kube-system"),
             controller::NewLease("kuryr-controller", {.holder = "leader-1",
                                                       .duration = 3600s,
                                                       .now = std::chrono::system_clock::now()}));
  const json waiting = CreatePod("waits");
  CreatePod("done", {{"finalizers", {controller::kPodFinalizer}}});
  api_->Delete("/api/v1/namespaces/default/pods/done?gracePeriodSeconds=0");
  const auto tell = [&](const std::string& component, const std::string& reason) {
    api_->Post("/api/v1/namespaces/default/events",
               watcher::EncodePodEvent({.reason = reason, .message = "because"},
                                       {"default", "waits", waiting["metadata"]["uid"]},
                                       {component, "node1"}));
  };
  tell("kuryr-controller", "KuryrNoFreeAddress");
  tell("kubelet", "Other");

  const ProcessResult status = RunCommand("status", {}, conf_);
  const ProcessResult one = RunCommand("status", {"default/waits"}, conf_);
  const ProcessResult refused = RunCommand("orphans", {"--remove"}, conf_);
  const ProcessResult removed_json =
      RunCommand("orphans", {"--remove", "--force", "-o", "json"}, conf_);
  CreatePod("ended", {{"finalizers", {controller::kPodFinalizer}}});
  api_->Delete("/api/v1/namespaces/default/pods/ended?gracePeriodSeconds=0");
  const ProcessResult removed = RunCommand("orphans", {"--remove", "--force"}, conf_);

  EXPECT_EQ(status.status, 1) << status.err;
  EXPECT_THAT(status.out,
              AllOf(ContainsRegex("leader-1 leads, renewed [0-9]+s ago\n0 planned, 1 waiting, "),
                    ContainsRegex("default/waits +waiting +node1 .*KuryrNoFreeAddress because\n"),
                    ContainsRegex("default/done +releasing +node1 ")));
  EXPECT_THAT(one.out, HasSubstr("KuryrNoFreeAddress because\n")) << one.err;
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(json::parse(removed_json.out)["orphans"],
            json::array({{{"what", "finalizer of pod default/done"},
                          {"why", "the pod is done"},
                          {"outcome", "removed"}}}))
      << removed_json.out << removed_json.err;
  EXPECT_EQ(removed.status, 0) << removed.out << removed.err;
  EXPECT_THAT(removed.out, HasSubstr("removed  finalizer of pod default/ended: the pod is done"));
  EXPECT_EQ(api_->Get("/api/v1/namespaces/default/pods")["items"].size(), 1U);
}

TEST_F(CommandsApiServerTest, PolicySaysWhatTheApiServersPoliciesAllow) {
  CreatePod("web", {{"labels", {{"app", "web"}}}});
  CreatePod("db", {{"labels", {{"app", "db"}}}});
  api_->Post("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
             json::parse(R"({"metadata": {"name": "db"},
      "spec": {"podSelector": {"matchLabels": {"app": "db"}},
               "ingress": [{"from": [{"namespaceSelector": {}, "podSelector": {"matchExpressions": [
                              {"key": "app", "operator": "NotIn", "values": ["db"]}]}}],
                            "ports": [{"port": 5432}]}]}})"));

  const ProcessResult allowed =
      RunCommand("policy", {"default/web", "default/db", "tcp/5432"}, conf_);
  const ProcessResult dropped =
      RunCommand("policy", {"default/web", "default/db", "udp/5432"}, conf_);

  EXPECT_EQ(allowed.status, 0) << allowed.err;
  EXPECT_THAT(allowed.out, HasSubstr("allowed by default/db: from namespaces= pods=app!=db, "
                                     "tcp/5432\nallowed\n"));
  EXPECT_EQ(dropped.status, 1) << dropped.err;
}

}  // namespace
}  // namespace kuryr::test
