#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/cni/agent/agent_fixture.h"

namespace kuryr::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// kuryr-daemon status, and health.
class StatusTest : public AgentTest {
 protected:
  [[nodiscard]] ProcessResult Status(const std::vector<std::string>& arguments = {}) const {
    return Question("status", arguments);
  }
  [[nodiscard]] ProcessResult Health(const std::vector<std::string>& arguments = {}) const {
    return Question("health", arguments);
  }

 private:
  [[nodiscard]] ProcessResult Question(const std::string& command,
                                       const std::vector<std::string>& arguments) const {
    std::vector<std::string> argv = {KURYR_BIN_DIR "/kuryr-daemon", "--config-file",
                                     (work_ / "kuryr.conf").string(), command};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return RunProgram({.argv = argv});
  }
};

TEST_F(StatusTest, ListsPodsWithTheirInterfacesAndTheirLastErrors) {
  const TestPod pod = ActivePod("nginx");
  const TestPod bad = MakePod("bad");
  AnnotateText(bad, R"({"versioned_object.name":"VIFNonsense"})");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  ASSERT_EQ(Run("ADD", bad).status, 1);

  const ProcessResult status = Status();

  EXPECT_EQ(status.status, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("node node1, kuryr-daemon"));
  EXPECT_THAT(status.out, ContainsRegex("default/nginx +plugged +eth0 +" + pod.tap + " +br-int +" +
                                        pod.ip + "[^ ]* +[0-9]+s +-\n"));
  EXPECT_THAT(status.out,
              ContainsRegex(
                  "default/bad +bad +- .*undecodable: Pod default/bad: .*openstack.org.kuryr-vif"));
}

TEST_F(StatusTest, TellsTheSameAsJson) {
  const TestPod pod = ActivePod("nginx");
  const TestPod early = MakePod("early");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  ASSERT_EQ(Run("ADD", early, {{"CNI_ARGS", "IgnoreUnknown=1"}}).status, 1);

  const nlohmann::json status = Answer(Status({"--json"}));

  EXPECT_EQ(status["node"], "node1");
  EXPECT_EQ(status["problem"], nullptr);
  const nlohmann::json& nginx = status["pods"]["default/nginx"];
  EXPECT_EQ(nginx["uid"], pod.uid);
  EXPECT_EQ(nginx["vifs"][0]["port"], pod.port_id);
  EXPECT_EQ(nginx["vifs"][0]["addresses"], nlohmann::json({pod.ip, pod.ip6}));
  EXPECT_EQ(nginx["attachments"][0]["container"], pod.container_id);
  EXPECT_EQ(nginx["attachments"][0]["interfaces"][0]["host_interface"], pod.tap);
  EXPECT_FALSE(status["pods"]["default/early"].contains("attachments"));
}

TEST_F(StatusTest, DrawsAPodsPathAndMarksWhatIsMissing) {
  const TestPod pod = ActivePod("nginx");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  const std::string path = "eth0 ── " + pod.tap + " ── br-int";

  const ProcessResult well = Status({"default/nginx"});
  ovs_->Vsctl({"del-port", pod.tap});
  const ProcessResult cut = Status({"default/nginx"});

  EXPECT_EQ(well.status, 0) << well.out;
  EXPECT_THAT(well.out, HasSubstr(path));
  EXPECT_THAT(well.out, ::testing::Not(HasSubstr("✗")));
  EXPECT_EQ(cut.status, 1);
  EXPECT_THAT(cut.out, HasSubstr(path));
  EXPECT_THAT(cut.out, ContainsRegex("✗ .*" + pod.tap));
}

TEST_F(StatusTest, OfAPodElsewhereItSaysSo) {
  const ProcessResult status = Status({"default/elsewhere"});

  EXPECT_EQ(status.status, 1);
  EXPECT_THAT(status.out, HasSubstr("default/elsewhere is not on this node\n"));
}

TEST_F(StatusTest, WithoutAnAgentItSaysWhereItLooked) {
  StopAgent(SIGKILL);

  const ProcessResult status = Status();

  EXPECT_EQ(status.status, 1);
  EXPECT_THAT(status.err, HasSubstr("no agent answers at " + status_socket().string()));
}

TEST_F(StatusTest, HealthSaysOkOrWhyNot) {
  const ProcessResult before = Health({"ready"});
  ASSERT_EQ(Run("ADD", ActivePod("nginx")).status, 0);
  const ProcessResult ready = Health({"ready"});
  const ProcessResult alive = Health();

  EXPECT_EQ(before.status, 1);
  EXPECT_THAT(before.out, HasSubstr("br-int"));
  EXPECT_EQ(ready.status, 0);
  EXPECT_EQ(ready.out, "ok\n");
  EXPECT_EQ(alive.status, 0);
  EXPECT_EQ(alive.out, "ok\n");
}

TEST_F(StatusTest, HealthKnowsTwoQuestions) {
  const ProcessResult health = Health({"well"});

  EXPECT_NE(health.status, 0);
  EXPECT_THAT(health.err, AllOf(HasSubstr("alive"), HasSubstr("ready")));
}

TEST_F(StatusTest, WithoutAnAgentHealthSaysWhereItLooked) {
  StopAgent(SIGKILL);

  const ProcessResult health = Health();

  EXPECT_EQ(health.status, 1);
  EXPECT_THAT(health.err, HasSubstr("no agent answers at " + status_socket().string()));
}

TEST_F(StatusTest, HealthGivesUpOnAnAgentThatIsStuck) {
  agent_->Signal(SIGSTOP);

  const ProcessResult health = Health();

  agent_->Signal(SIGCONT);
  EXPECT_EQ(health.status, 1);
  EXPECT_THAT(health.err, HasSubstr("no agent answers at " + status_socket().string()));
}

TEST_F(StatusTest, HealthNeedsNoMoreOfTheConfigurationThanTheSocket) {
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nmax_calls = many\n[binding]\ndrivers = none\n");

  EXPECT_EQ(Health().status, 0);
}

TEST_F(StatusTest, StatusAndHealthDoNotWaitForCalls) {
  StopAgent(SIGTERM);
  WriteConfig(DefaultKubernetes(), "[cni_daemon]\nmax_calls = 1\n");
  StartAgent();
  const TestPod pod = MakePod("nginx");
  Annotate(pod, Vif(pod, false));
  Process add(Call("ADD", pod));
  WaitUntilPlugged(pod);

  const nlohmann::json status = Answer(Status({"--json"}));
  const ProcessResult alive = Health({"alive"});
  const ProcessResult ready = Health({"ready"});
  Annotate(pod, Vif(pod, true));

  EXPECT_EQ(status["pods"]["default/nginx"]["attachments"][0]["state"], "plugging");
  EXPECT_EQ(alive.out, "ok\n");
  EXPECT_EQ(ready.out, "ok\n");
  EXPECT_EQ(add.Wait().status, 0);
}

}  // namespace
}  // namespace kuryr::test
