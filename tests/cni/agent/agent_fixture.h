#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cni/plugin/plugin_fixture.h"

namespace kuryr::test {

/// kuryr-cni with kuryr-daemon on the node.
class AgentTest : public PluginTest {
 protected:
  /// A kubelet's own for a static pod: its mirror in the API has another one.
  static constexpr const char* kStaticUid = "3c9d1f0a5b7e4d2c8f6a9b0e1d2c3f4a";
  /// Of pods.
  static constexpr size_t kAgentWatches = 1;

  void SetUp() override {
    PluginTest::SetUp();
    StartAgent();
    ASSERT_TRUE(api_->WaitForWatches(kAgentWatches));
  }

  TestPod ActivePod(const std::string& name) {
    TestPod pod = MakePod(name);
    Annotate(pod, Vif(pod, true));
    return pod;
  }
  /// One that was, and that the agent knows to be gone: it has heard of a later one.
  TestPod GonePod(const std::string& name) {
    TestPod pod = ActivePod(name);
    api_->Delete("pods", "default", name);
    const TestPod later = ActivePod(name + "-later");
    EXPECT_EQ(Run("ADD", later).status, 0);
    EXPECT_EQ(Run("DEL", later).status, 0);
    return pod;
  }
  /// Of a static pod, with its VIF.
  void MakeMirrorOf(const TestPod& pod) {
    api_->Create({{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata",
                   {{"name", pod.name},
                    {"ownerReferences", {{{"kind", "Node"}, {"name", "node1"}}}},
                    {"annotations",
                     {{"kubernetes.io/config.hash", pod.uid},
                      {"kubernetes.io/config.mirror", pod.uid},
                      {"openstack.org/kuryr-vif", Vif(pod, true).dump()}}}}},
                  {"spec", {{"nodeName", "node1"}}}});
  }
  void AddBridge() {
    ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int",
                 "datapath_type=" + PrivateOvs::datapath_type()});
  }
  /// Of a version that has STATUS.
  [[nodiscard]] std::string StatusConfig() const {
    return R"({"cniVersion":"1.1.0","kuryr_conf":")" + (work_ / "kuryr.conf").string() +
           R"(","name":"kuryr","type":"kuryr-cni"})";
  }
  static nlohmann::json Answer(const ProcessResult& result) {
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
  /// From now on the agent is told nothing of pods, and does not know it.
  void FreezeWatches() {
    api_->Inject({.kind = fake::Fault::Kind::kSilence, .verb = "watch", .count = -1});
    api_->DropWatches();
    EXPECT_TRUE(api_->WaitForRequest("watch", "/api/v1", 2));
  }
  void ThawWatches() {
    api_->ClearFaults();
    api_->StopListening();
    api_->StartListening();
  }
  /// Without the agent's socket it would be served by the plugin alone.
  void StopAgent(int signal) {
    agent_->Signal(signal);
    (void)agent_->Wait();
  }
  /// What the agent has logged until its end.
  std::string EndAgent() {
    agent_->Signal(SIGTERM);
    return agent_->Wait().err;
  }
};

}  // namespace kuryr::test
