#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/cni/agent/agent_fixture.h"
#include "tests/support/paths.h"

namespace kuryr::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

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
    std::vector<std::string> argv = {test::BinDir() + "/kuryr-daemon", "--config-file",
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

TEST_F(StatusTest, ADelThatFailsIsSeenUntilOneSucceeds) {
  const TestPod pod = ActivePod("nginx");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  ovs_->StopServer();
  const nlohmann::json error = nlohmann::json::parse(Run("DEL", pod).out, nullptr, false);

  const ProcessResult failed = Status();
  ovs_->StartServer();
  EXPECT_EQ(Run("DEL", pod).status, 0);
  const ProcessResult deleted = Status();

  EXPECT_THAT(error.value("details", ""), HasSubstr("pod default/nginx, container"));
  EXPECT_THAT(failed.out,
              ContainsRegex("default/nginx +unplugging +eth0 .*[0-9]+s ago: DEL 5 .*db.sock"));
  EXPECT_THAT(deleted.out, Not(HasSubstr("DEL 5")));
  EXPECT_THAT(EndAgent(),
              ContainsRegex("level=warning msg=call command=DEL .* pod=default/nginx "));
}

TEST_F(StatusTest, TheDelOfAFailedAddDoesNotHideWhyItFailed) {
  AddBridge();
  const TestPod pod = MakePod("bad");
  AnnotateText(pod, "{");
  ASSERT_EQ(Run("ADD", pod).status, 1);
  ASSERT_EQ(Run("DEL", pod).status, 0);

  EXPECT_EQ(Answer(Status({"--json"}))["pods"]["default/bad"]["error"]["code"], 101);
  Annotate(pod, Vif(pod, true));
  ASSERT_EQ(Run("ADD", pod).status, 0);
  EXPECT_FALSE(Answer(Status({"--json"}))["pods"]["default/bad"].contains("error"));
}

TEST_F(StatusTest, NothingIsListedOfAPodThatIsGone) {
  const TestPod pod = MakePod("bad");
  AnnotateText(pod, "{");
  ASSERT_EQ(Run("ADD", pod).status, 1);
  api_->Delete("pods", "default", "bad");
  // Its events are handled after those of the other one.
  ASSERT_EQ(Run("ADD", ActivePod("nginx")).status, 0);

  EXPECT_THAT(Status().out, AllOf(HasSubstr("default/nginx"), Not(HasSubstr("default/bad"))));
}

TEST_F(StatusTest, WhatAnAddAwaitsIsToldWithItsAgeAndAsOneEvent) {
  const TestPod pod = MakePod("nginx");
  Process add(Call("ADD", pod));

  ASSERT_TRUE(api_->WaitForRequest("create", "/api/v1/namespaces/default/events", 1,
                                   std::chrono::seconds(30)));
  const ProcessResult without_vif = Status();
  Annotate(pod, Vif(pod, false));
  WaitUntilPlugged(pod);
  const ProcessResult inactive = Status({"default/nginx"});
  Annotate(pod, Vif(pod, true));
  EXPECT_EQ(add.Wait().status, 0);

  EXPECT_THAT(
      without_vif.out,
      ContainsRegex("default/nginx +no-vif .* [1-9][0-9]*s +waits [1-9][0-9]*s for annotation "
                    "openstack.org/kuryr-vif, or a KuryrPort\n"));
  EXPECT_EQ(inactive.status, 1);
  EXPECT_THAT(inactive.out,
              ContainsRegex("waits [0-9]+s for port " + pod.port_id + " to become active"));
  const std::vector<nlohmann::json> events = api_->List("events", "default");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["reason"], "CNIWaitingForVIFs");
  EXPECT_EQ(events[0]["type"], "Normal");
  EXPECT_THAT(events[0]["message"], HasSubstr("openstack.org/kuryr-vif"));
}

TEST_F(StatusTest, DrawsAPodsPathAndMarksWhatIsMissing) {
  StopAgent(SIGTERM);
  StartAgentWith(WithRepair("report"));
  const TestPod pod = ActivePod("nginx");
  ASSERT_EQ(Run("ADD", pod).status, 0);
  const std::string path = "eth0 ── " + pod.tap + " ── br-int";

  const ProcessResult well = Status({"default/nginx"});
  ovs_->Vsctl({"del-port", pod.tap});
  const ProcessResult cut = Status({"default/nginx"});

  EXPECT_EQ(well.status, 0) << well.out;
  EXPECT_THAT(well.out, HasSubstr(path));
  EXPECT_THAT(well.out, Not(HasSubstr("✗")));
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

  EXPECT_EQ(status.status, 2);
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

  EXPECT_EQ(health.status, 2);
  EXPECT_THAT(health.err, HasSubstr("no agent answers at " + status_socket().string()));
}

TEST_F(StatusTest, HealthGivesUpOnAnAgentThatIsStuck) {
  agent_->Signal(SIGSTOP);

  const ProcessResult health = Health();

  agent_->Signal(SIGCONT);
  EXPECT_EQ(health.status, 2);
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
