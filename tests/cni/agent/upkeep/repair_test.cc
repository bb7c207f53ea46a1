#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cni/attachments/attachment_store.h"
#include "tests/cni/agent/agent_fixture.h"

// Attachments of running pods that somebody else has changed. No test calls the plugin to mend one.

namespace kuryr::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RepairTest : public AgentTest {
 protected:
  static constexpr const char* kRepaired = "outcome=repaired";

  void SetUp() override {
    PluginTest::SetUp();
    StartAgentWith(WithRepair("on"));
  }
  TestPod Added(const std::string& name) {
    TestPod pod = ActivePod(name);
    EXPECT_EQ(Run("ADD", pod).status, 0);
    return pod;
  }
  [[nodiscard]] std::string WithBandwidth(const nlohmann::json& bandwidth) const {
    return nlohmann::json{{"cniVersion", "1.0.0"},
                          {"name", "kuryr"},
                          {"type", "kuryr-cni"},
                          {"kuryr_conf", (work_ / "kuryr.conf").string()},
                          {"runtimeConfig", {{"bandwidth", bandwidth}}}}
        .dump();
  }
  void DeletePort(const TestPod& pod) { ovs_->Vsctl({"del-port", pod.tap}); }
  static std::string HostEnd(const TestPod& pod) {
    return RunOnHost({"ip", "-brief", "link", "show", "dev", pod.tap});
  }
  /// The Events of at least one pod after those of two were begun: the agent writes one by one.
  [[nodiscard]] std::vector<std::string> Reasons() const {
    EXPECT_TRUE(api_->WaitForRequest("create", "/api/v1/namespaces/default/events", 2));
    std::vector<std::string> reasons;
    for (const nlohmann::json& event : api_->List("events", "default"))
      reasons.push_back(event["reason"]);
    return reasons;
  }
};

TEST_F(RepairTest, APortThatWasDeletedIsBack) {
  const TestPod pod = Added("a");
  const TestPod other = Added("b");

  DeletePort(pod);
  WaitUntilPlugged(pod);
  DeletePort(other);
  WaitUntilPlugged(other);

  EXPECT_THAT(ovs_->Vsctl({"get", "Interface", pod.tap, "external_ids"}), HasSubstr(pod.port_id));
  EXPECT_THAT(Reasons(), Contains("CNIRepaired"));
  EXPECT_THAT(Metrics(),
              HasSubstr("kuryr_daemon_repairs_total{kind=\"port\",outcome=\"repaired\"} 2\n"));
  EXPECT_EQ(Run("DEL", pod).status, 0);
  EXPECT_EQ(Run("DEL", other).status, 0);
  ExpectNothingLeft();
}

TEST_F(RepairTest, AHostEndThatWasSetDownIsUpAgain) {
  const TestPod pod = Added("a");

  RunOnHost({"ip", "link", "set", "dev", pod.tap, "down"});
  WaitFor(kRepaired);

  EXPECT_THAT(HostEnd(pod), Not(HasSubstr("DOWN")));
}

TEST_F(RepairTest, ExternalIdsThatWereLostAreBack) {
  const TestPod pod = Added("a");

  ovs_->Vsctl({"remove", "Interface", pod.tap, "external_ids", "iface-id"});
  WaitFor(kRepaired);

  EXPECT_THAT(ovs_->Vsctl({"get", "Interface", pod.tap, "external_ids:iface-id"}),
              HasSubstr(pod.port_id));
}

TEST_F(RepairTest, TheLimitsThatTheRuntimeAskedForAreBack) {
  const TestPod pod = ActivePod("a");
  ASSERT_EQ(Run("ADD", pod, {{"stdin", WithBandwidth({{"ingressRate", 20000000}})}}).status, 0);
  const auto qos = [&] { return ovs_->Vsctl({"get", "Port", pod.tap, "qos"}); };
  const auto limit = [&] { return ovs_->Vsctl({"get", "QoS", qos(), "type", "other_config"}); };
  const std::string made = limit();
  EXPECT_EQ(made, "linux-htb\n{max-rate=\"20000000\"}");

  ovs_->Vsctl({"set", "QoS", qos(), "other_config:max-rate=90000000"});
  WaitFor(kRepaired);

  EXPECT_EQ(limit(), made);
  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();
  EXPECT_EQ(ovs_->Vsctl({"list", "QoS"}), "");
}

TEST_F(RepairTest, ALimitThatTheDatapathCannotHoldIsRefused) {
  if (PrivateOvs::datapath_type() == "system") GTEST_SKIP() << "the kernel's datapath holds it";
  const nlohmann::json error =
      FailedAdd(ActivePod("a"), {{"stdin", WithBandwidth({{"egressRate", 20000000}})}});

  EXPECT_EQ(error["code"], 2);
  EXPECT_THAT(error.value("details", ""), HasSubstr("cannot limit what a pod sends"));
  EXPECT_EQ(ovs_->Vsctl({"list", "QoS"}), "");
}

TEST_F(RepairTest, WhatBrokeWhileTheAgentWasDownIsRepaired) {
  const TestPod pod = Added("a");
  StopAgent(SIGTERM);
  DeletePort(pod);

  StartAgentWith(WithRepair("on"));
  WaitFor(kRepaired);

  EXPECT_THAT(Ports(), ElementsAre(pod.tap));
}

TEST_F(RepairTest, ReportsAndChangesNothing) {
  const TestPod pod = Added("a");
  const TestPod other = Added("b");
  StopAgent(SIGTERM);
  StartAgentWith(WithRepair("report"));

  for (const TestPod& one : {pod, other}) RunOnHost({"ip", "link", "set", "dev", one.tap, "down"});

  EXPECT_THAT(Reasons(), Contains("CNIDiffers"));
  EXPECT_THAT(HostEnd(pod), HasSubstr("DOWN"));
}

TEST_F(RepairTest, AnAttachmentUnderDelIsNotTouched) {
  const TestPod pod = Added("a");
  cni::AttachmentStore attachments(work_ / "state");
  {
    const auto under_del = attachments.Take({"kuryr", pod.container_id, "eth0"});
    ASSERT_TRUE(under_del);
    DeletePort(pod);
    WaitFor("an attachment is left to the call that is at work on it");
    EXPECT_THAT(Ports(), IsEmpty());
  }

  EXPECT_EQ(Run("DEL", pod).status, 0);
  ExpectNothingLeft();
}

TEST_F(RepairTest, GivesUpARepairThatIsUndoneEachTime) {
  const TestPod pod = Added("a");
  cni::AttachmentStore attachments(work_ / "state");
  for (int round = 0; round < 3; ++round) {
    DeletePort(pod);
    WaitUntilPlugged(pod);
    // The repair holds the record until it has ended.
    (void)attachments.Take({"kuryr", pod.container_id, "eth0"});
  }

  DeletePort(pod);
  WaitFor("outcome=contested kind=port");

  EXPECT_THAT(Ports(), IsEmpty());
}

TEST_F(RepairTest, ARepairThatCannotSucceedIsToldOnceAndGrowsRarer) {
  const TestPod pod = Added("a");
  ovs_->Vsctl(
      {"--no-wait", "set", "Bridge", "br-int", "datapath_type=unknown", "--", "del-port", pod.tap});
  WaitFor("outcome=failed");
  for (int event = 0; event < 5; ++event)
    RunOnHost({"ip", "link", "set", "dev", pod.tap, "txqueuelen", std::to_string(500 + event)});
  WaitFor("the next repair of an attachment is not due yet");
  EXPECT_EQ(FirstEvent()["reason"], "CNIRepairFailed");

  ovs_->Vsctl(
      {"--no-wait", "set", "Bridge", "br-int", "datapath_type=" + PrivateOvs::datapath_type()});
  WaitUntilPlugged(pod);

  const std::string log = EndAgent();
  EXPECT_EQ(log.find("outcome=failed"), log.rfind("outcome=failed"));
}

TEST_F(RepairTest, WaitsForOpenVSwitch) {
  const TestPod pod = Added("a");
  ovs_->StopServer();

  RunOnHost({"ip", "link", "set", "dev", pod.tap, "down"});
  WaitFor("an attachment waits for Open vSwitch");
  ovs_->StartServer();
  WaitFor(kRepaired);

  EXPECT_THAT(HostEnd(pod), Not(HasSubstr("DOWN")));
}

TEST_F(RepairTest, WaitsForOvsVswitchdAlone) {
  const TestPod pod = Added("a");
  const TestPod other = Added("b");
  ovs_->StopVswitchd();

  for (const TestPod& one : {pod, other}) {
    ovs_->Vsctl({"--no-wait", "del-port", one.tap});
    WaitFor("an attachment waits for Open vSwitch");
  }
  EXPECT_THAT(Ports(), IsEmpty());
  ovs_->StartVswitchd();
  for (const TestPod& one : {pod, other}) WaitUntilPlugged(one);

  EXPECT_THAT(Metrics(), Not(HasSubstr("kind=\"port\",outcome=\"failed\"")));
}

TEST_F(RepairTest, AnAddWithoutOvsVswitchdFailsAndLeavesNothing) {
  StopAgent(SIGTERM);
  StartAgentWith(WithRepair("on") + "[os_vif_ovs]\novs_vsctl_timeout = 1\n");
  ovs_->StopVswitchd();

  const nlohmann::json error = FailedAdd(ActivePod("a"), {});
  EXPECT_EQ(error["code"], 11);
  ExpectNothingLeft();
  ovs_->StartVswitchd();

  EXPECT_EQ(Run("ADD", ActivePod("b")).status, 0);
}

}  // namespace
}  // namespace kuryr::test
