#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cni/agent/agent_fixture.h"

// Ports when Open vSwitch starts with --delete-transient-ports, and after a reboot.

namespace kuryr::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class TransientPortsTest : public AgentTest {
 protected:
  void SetUp() override { PluginTest::SetUp(); }

  void StartAgentWith(const std::string& options) {
    WriteConfig(DefaultKubernetes(), options);
    StartAgent();
    ASSERT_TRUE(api_->WaitForWatches(kAgentWatches));
  }
  TestPod Added(const std::string& name) {
    TestPod pod = ActivePod(name);
    const ProcessResult add = Run("ADD", pod);
    EXPECT_EQ(add.status, 0) << add.out << add.err;
    return pod;
  }
  /// As far as pods are concerned: records in /run and devices are gone, the database of Open
  /// vSwitch is not.
  void Reboot(const std::vector<TestPod>& pods) {
    StopAgent(SIGKILL);
    std::filesystem::remove_all(work_ / "state");
    for (const TestPod& pod : pods) RunOnHost({"ip", "link", "delete", pod.tap});
  }
};

TEST_F(TransientPortsTest, APortOfTheAgentsStays) {
  StartAgentWith("");
  const TestPod pod = Added("web");

  ovs_->DeleteTransientPorts();

  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
}

TEST_F(TransientPortsTest, OneOfThePluginAloneGoes) {
  WriteConfig(DefaultKubernetes());
  (void)Added("web");

  ovs_->DeleteTransientPorts();

  EXPECT_THAT(Ports(), ElementsAre());
}

TEST_F(TransientPortsTest, TheOptionDecidesForBoth) {
  WriteConfig(DefaultKubernetes(), "[os_vif_ovs]\ntransient_ports = false\n");
  const TestPod alone = Added("alone");
  StartAgentWith("[os_vif_ovs]\ntransient_ports = true\n");
  (void)Added("served");

  ovs_->DeleteTransientPorts();

  EXPECT_THAT(Ports(), ElementsAre(alone.tap));
}

TEST_F(TransientPortsTest, OneOfAnAgentThatRemovesNoneGoes) {
  StartAgentWith("[cni_daemon]\norphan_grace = 0\n");
  (void)Added("web");

  ovs_->DeleteTransientPorts();

  EXPECT_THAT(Ports(), ElementsAre());
}

TEST_F(TransientPortsTest, AfterARebootTheAgentRemovesWhatNoPodTakesOver) {
  const std::string options = "[DEFAULT]\ndebug = true\n[cni_daemon]\norphan_grace = 1\n";
  StartAgentWith(options);
  const TestPod gone = Added("gone");
  TestPod again = Added("again");
  Reboot({gone, again});
  api_->Delete("pods", "default", gone.name);

  StartAgentWith(options);
  again.container_id = std::string(64, 'd');
  ASSERT_EQ(Run("ADD", again).status, 0);
  agent_->WaitForOutput("every port has its record or its pod", 30s);

  EXPECT_THAT(Ports(), ElementsAre(again.tap));
  EXPECT_GE(std::stoi(ovs_->Vsctl({"get", "Interface", again.tap, "ofport"})), 1);
}

}  // namespace
}  // namespace kuryr::test
