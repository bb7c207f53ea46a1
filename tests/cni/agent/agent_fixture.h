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
  /// Pods and KuryrPorts.
  static constexpr size_t kAgentWatches = 2;

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
  static nlohmann::json Answer(const ProcessResult& result) {
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
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
