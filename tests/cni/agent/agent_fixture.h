#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cni/plugin/plugin_fixture.h"

namespace kuryr::test {

/// kuryr-cni with kuryr-daemon on the node.
class AgentTest : public PluginTest {
 protected:
  /// The UID that a kubelet gives a static pod: its mirror in the API has another one.
  static constexpr const char* kStaticUid = "3c9d1f0a5b7e4d2c8f6a9b0e1d2c3f4a";
  /// The agent watches pods alone.
  static constexpr size_t kAgentWatches = 1;

  void SetUp() override {
    PluginTest::SetUp();
    StartAgent();
    ASSERT_TRUE(api_->WaitForWatches(kAgentWatches));
  }

  /// Starts an agent that logs everything. `sections` of kuryr.conf follow section kubernetes,
  /// whose last lines are `kubernetes`.
  void StartAgentWith(const std::string& sections, const std::string& kubernetes = "",
                      size_t watches = kAgentWatches) {
    WriteConfig(DefaultKubernetes() + kubernetes, "[DEFAULT]\ndebug = true\n" + sections);
    StartAgent();
    ASSERT_TRUE(api_->WaitForWatches(watches));
  }
  static std::string WithRepair(const std::string& mode) {
    return "[cni_daemon]\nrepair = " + mode + "\n";
  }
  /// Waits until the agent has logged `output`.
  void WaitFor(const std::string& output) {
    agent_->WaitForOutput(output, std::chrono::seconds(30));
  }
  static std::string Metrics() {
    return RunProgram(
               {.argv = {"curl", "--silent", "--max-time", "10", "http://127.0.0.1:8090/metrics"}})
        .out;
  }

  /// The first Event as the agent sent it: the API server may not have it yet.
  [[nodiscard]] nlohmann::json FirstEvent() const {
    const std::string events = "/api/v1/namespaces/default/events";
    EXPECT_TRUE(api_->WaitForRequest("create", events));
    for (const auto& request : api_->Requests()) {
      if (request.verb == "create" && request.path == events)
        return nlohmann::json::parse(request.body);
    }
    return nullptr;
  }

  TestPod ActivePod(const std::string& name) {
    TestPod pod = MakePod(name);
    Annotate(pod, Vif(pod, true));
    return pod;
  }
  static nlohmann::json& Data(nlohmann::json& object, const char* key) {
    return object["versioned_object.data"][key];
  }
  /// Of a pod whose gateway is its node: its link has only its own addresses.
  [[nodiscard]] nlohmann::json RoutedVif(const TestPod& pod) const {
    nlohmann::json vif = Vif(pod, true);
    nlohmann::json& subnets = Data(Data(Data(vif, "network"), "subnets"), "objects");
    Data(subnets[0], "cidr") = pod.ip + "/32";
    Data(subnets[1], "cidr") = pod.ip6 + "/128";
    return vif;
  }
  TestPod RoutedPod(const std::string& name) {
    TestPod pod = MakePod(name);
    Annotate(pod, RoutedVif(pod));
    return pod;
  }
  /// A pod that the agent knows to be gone: the agent has heard of a later one.
  TestPod GonePod(const std::string& name) {
    TestPod pod = ActivePod(name);
    api_->Delete("pods", "default", name);
    const TestPod later = ActivePod(name + "-later");
    EXPECT_EQ(Run("ADD", later).status, 0);
    EXPECT_EQ(Run("DEL", later).status, 0);
    return pod;
  }
  /// Creates the mirror of a static pod, with its VIF.
  void MakeMirrorOf(const TestPod& pod) { MakeMirrorOf(pod, Vif(pod, true)); }
  void MakeMirrorOf(const TestPod& pod, const nlohmann::json& vif) {
    api_->Create({{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata",
                   {{"name", pod.name},
                    {"ownerReferences", {{{"kind", "Node"}, {"name", "node1"}}}},
                    {"annotations",
                     {{"kubernetes.io/config.hash", pod.uid},
                      {"kubernetes.io/config.mirror", pod.uid},
                      {"openstack.org/kuryr-vif", vif.dump()}}}}},
                  {"spec", {{"nodeName", "node1"}}}});
  }
  void AddBridge() {
    ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int",
                 "datapath_type=" + PrivateOvs::datapath_type()});
  }
  /// A network configuration of a version that has STATUS.
  [[nodiscard]] std::string StatusConfig() const {
    return R"({"cniVersion":"1.1.0","kuryr_conf":")" + (work_ / "kuryr.conf").string() +
           R"(","name":"kuryr","type":"kuryr-cni"})";
  }
  static nlohmann::json Answer(const ProcessResult& result) {
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
  /// From now on the API server tells the agent nothing of pods, and the agent does not know it.
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
  void StopAgent(int signal) {
    agent_->Signal(signal);
    (void)agent_->Wait();
  }
  /// Ends the agent, and returns its log.
  std::string EndAgent() {
    agent_->Signal(SIGTERM);
    return agent_->Wait().err;
  }
};

}  // namespace kuryr::test
