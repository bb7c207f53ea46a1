#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cni/agent/agent_fixture.h"

// Ports whose records are lost.

namespace kuryr::test {
namespace {

using namespace std::chrono_literals;
using ::testing::UnorderedElementsAre;

class PortSweepTest : public AgentTest {
 protected:
  void SetUp() override {
    PluginTest::SetUp();
    WriteConfig(DefaultKubernetes(), "[DEFAULT]\ndebug = true\n[cni_daemon]\norphan_grace = 1\n");
    StartAgent();
    ASSERT_TRUE(api_->WaitForWatches(kAgentWatches));
    // Some pod is always known: where none is, the agent may watch another node's.
    any_ = ActivePod("any");
  }
  TestPod Added(const std::string& name) {
    TestPod pod = ActivePod(name);
    EXPECT_EQ(Run("ADD", pod).status, 0);
    return pod;
  }
  void LoseRecordOf(const TestPod& pod) {
    for (const std::string& record : Records()) {
      if (record.find(pod.container_id) != std::string::npos)
        std::filesystem::remove(work_ / "state/attachments" / record);
    }
  }
  void WaitUntilSwept() { agent_->WaitForOutput("every port has its record or its pod", 30s); }

  TestPod any_;
};

TEST_F(PortSweepTest, APortGoesWhoseRecordAndPodAreLost) {
  const TestPod gone = Added("gone");
  const TestPod recorded = Added("recorded");
  const TestPod alive = Added("alive");
  StopAgent(SIGTERM);
  for (const TestPod& pod : {gone, alive}) LoseRecordOf(pod);
  for (const char* name : {"gone", "recorded"}) api_->Delete("pods", "default", name);

  StartAgent();
  WaitUntilSwept();

  EXPECT_THAT(Ports(), UnorderedElementsAre(recorded.tap, alive.tap));
  EXPECT_EQ(HostVeths().size(), 2U);
  EXPECT_EQ(Records().size(), 1U);
  EXPECT_EQ(Run("DEL", gone).status, 0);
}

TEST_F(PortSweepTest, APortOfANetworkWithoutProducerStays) {
  const TestPod pod = MakePod("local");
  const std::string network = R"({"cniVersion":"1.0.0","name":"local","type":"kuryr-cni",)"
                              R"("kuryr":{"vif":"ovs"},"kuryr_conf":")" +
                              (work_ / "kuryr.conf").string() + R"("})";
  AddBridge();
  const ProcessResult add = Run("ADD", pod, {{"stdin", network}});
  ASSERT_EQ(add.status, 0) << add.out << add.err;
  StopAgent(SIGTERM);
  LoseRecordOf(pod);
  api_->Delete("pods", "default", "local");

  StartAgent();
  WaitUntilSwept();

  EXPECT_EQ(Ports().size(), 1U);
}

TEST_F(PortSweepTest, APortOfAStaticPodStaysThatTheApiServerDoesNotKnow) {
  TestPod pod = MakePod("etcd-node1");
  api_->Delete("pods", "default", pod.name);
  pod.uid = kStaticUid;
  MakeMirrorOf(pod);
  const ProcessResult add = Run("ADD", pod);
  ASSERT_EQ(add.status, 0) << add.out << add.err;
  StopAgent(SIGTERM);
  LoseRecordOf(pod);
  api_->Delete("pods", "default", pod.name);

  StartAgent();
  WaitUntilSwept();

  EXPECT_EQ(Ports(), std::vector<std::string>{pod.tap});
}

TEST_F(PortSweepTest, NothingGoesBeforeThePodsAreKnown) {
  const TestPod alive = Added("alive");
  StopAgent(SIGTERM);
  LoseRecordOf(alive);
  api_->Inject({.kind = fake::Fault::Kind::kSilence, .verb = "list", .count = -1});

  StartAgent();
  agent_->WaitForOutput("the node's pods are not known", 30s);
  EXPECT_EQ(Ports(), std::vector<std::string>{alive.tap});
  ThawWatches();
  WaitUntilSwept();

  EXPECT_EQ(Ports(), std::vector<std::string>{alive.tap});
}

}  // namespace
}  // namespace kuryr::test
