#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/cni/agent/agent_fixture.h"

namespace kuryr::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// kuryr-daemon status.
class StatusTest : public AgentTest {
 protected:
  [[nodiscard]] ProcessResult Status(const std::vector<std::string>& arguments = {}) const {
    std::vector<std::string> argv = {KURYR_BIN_DIR "/kuryr-daemon", "--config-file",
                                     (work_ / "kuryr.conf").string(), "status"};
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
  EXPECT_THAT(status.err, HasSubstr(agent_socket().string()));
}

}  // namespace
}  // namespace kuryr::test
