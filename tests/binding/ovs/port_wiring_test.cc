// A real database, in which the test writes what ovn-controller and Neutron's agent would.
#include "binding/ovs/port_wiring.h"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <optional>

#include "base/event_fd.h"
#include "tests/support/at_deadline.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class PortWiringTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    ovs_.emplace("/run");
    Vsctl({"add-br", "br-int", "--", "add-port", "br-int", "tap1", "--", "set", "Interface", "tap1",
           "external_ids:kuryr-container-id=c1"});
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }
  std::string Vsctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--no-wait");
    return ovs_->Vsctl(arguments);
  }
  void SetNode(const std::string& id) { Vsctl({"set", "Open_vSwitch", ".", "external_ids:" + id}); }
  void Claim() { Vsctl({"set", "Interface", "tap1", "external_ids:ovn-installed=true"}); }
  /// Makes the bridge as neutron-openvswitch-agent does when it starts.
  void MakeNeutrons() {
    Vsctl({"set-fail-mode", "br-int", "secure", "--", "add-port", "br-int", "int-br-ex", "--",
           "set", "Interface", "int-br-ex", "type=patch", "options:peer=phy-br-ex"});
  }

  static std::vector<PlannedPort> Ports() {
    return {{.owner = {{"kuryr-container-id", "c1"}}, .bridge = "br-int"}};
  }
  PortWiring Wiring(WaitForWiring wait = WaitForWiring::kAuto) {
    return {ovs_->remote(), {.ovsdb = nullptr, .flows = &flows_}, wait, 30s};
  }
  std::string Describe(WaitForWiring wait = WaitForWiring::kAuto) {
    return Wiring(wait).Describe(Ports(), Deadline::After(30s));
  }
  /// Starts to wait, and sees that it goes on.
  std::future<void> StartToWait(int cancel_fd = -1) {
    auto waiting = std::async(std::launch::async, [this, cancel_fd, host = Netns::Current()] {
      const NetnsGuard guard(host);
      Wiring().Wait(Ports(), Deadline::After(30s, cancel_fd));
    });
    EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
    return waiting;
  }

  std::optional<test::PrivateOvs> ovs_;
  OpenFlowConnections flows_;
};

TEST_F(PortWiringTest, NobodyIsWaitedForWhereNobodyProgramsTheBridge) {
  Wiring().Wait(Ports(), Deadline::After(30s));

  EXPECT_EQ(Describe(), "");
}

TEST_F(PortWiringTest, OvnIsWaitedForUntilItHasClaimedThePort) {
  SetNode("ovn-remote=\"tcp:192.0.2.1:6642\"");
  auto waiting = StartToWait();

  Claim();

  EXPECT_NO_THROW(waiting.get());
  EXPECT_EQ(Describe(), "OVN has claimed port tap1");
}

TEST_F(PortWiringTest, WhatOvnHasNotInstalledYetIsNotClaimed) {
  SetNode("ovn-remote=\"tcp:192.0.2.1:6642\"");
  SetNode("system-id=0af1");
  SetNode("hostname=node1.example.net");
  Vsctl({"set", "Interface", "tap1", "external_ids:ovn-installed=false"});

  EXPECT_THAT(Describe(), HasSubstr("OVN has not claimed the port tap1 on bridge br-int for "
                                    "chassis \"0af1\" with hostname \"node1.example.net\""));
}

TEST_F(PortWiringTest, OvnsBridgeIsTheOneThatItsChassisHas) {
  const std::string claims = "OVN has not claimed the port tap1";
  SetNode("ovn-remote-probe-interval=5000");
  EXPECT_EQ(Describe(), "");
  SetNode("ovn-remote-node7=\"tcp:192.0.2.1:6642\"");
  EXPECT_THAT(Describe(), HasSubstr(claims));
  SetNode("ovn-bridge-node7=br-seven");
  EXPECT_EQ(Describe(), "");
  SetNode("ovn-remote=\"tcp:192.0.2.1:6642\"");
  EXPECT_THAT(Describe(), HasSubstr(claims));
  SetNode("system-id=node7");
  EXPECT_EQ(Describe(), "");
  SetNode("ovn-bridge-node7=br-int");
  EXPECT_THAT(Describe(), HasSubstr(claims));
}

TEST_F(PortWiringTest, NeutronsAgentIsWaitedForUntilThePortHasItsVlan) {
  MakeNeutrons();
  auto waiting = StartToWait();

  Vsctl({"set", "Port", "tap1", "tag=4095", "other_config:net_uuid=7"});
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  Vsctl({"set", "Port", "tap1", "tag=3"});

  EXPECT_NO_THROW(waiting.get());
  EXPECT_EQ(Describe(), "Neutron's agent has wired port tap1");
}

TEST_F(PortWiringTest, ASecureBridgeAloneIsNotNeutrons) {
  Vsctl({"set-fail-mode", "br-int", "secure"});

  EXPECT_EQ(Describe(), "");
}

TEST_F(PortWiringTest, TheDeadlineNamesWhoIsMissingAndWhere) {
  SetNode("ovn-remote=\"tcp:192.0.2.1:6642\"");

  const std::string said = test::SaidAtDeadline<NotWired>(
      [&](const Deadline& deadline) { Wiring().Wait(Ports(), deadline); });

  EXPECT_THAT(said, AllOf(HasSubstr("timed out: OVN has not claimed the port tap1 on bridge "
                                    "br-int"),
                          HasSubstr("ovn-controller of this node")));
}

TEST_F(PortWiringTest, WhatOvnHasClaimedNeedsFlows) {
  SetNode("ovn-remote=\"tcp:192.0.2.1:6642\"");
  ovs_->Vsctl({"set", "Bridge", "br-int", "datapath_type=netdev", "--", "set", "Interface", "tap1",
               "type=internal"});
  Claim();
  const std::string said = test::SaidAtDeadline<NotWired>(
      [&](const Deadline& deadline) { Wiring().Wait(Ports(), deadline); });
  EXPECT_THAT(said,
              HasSubstr("timed out: OVN has claimed port tap1, and bridge br-int has no flows of "
                        "it: ovs-vswitchd refuses those of ovn-controller"));
  auto waiting = StartToWait();

  const std::string number = ovs_->Vsctl({"get", "Interface", "tap1", "ofport"});
  test::RunProgram(
      {.argv = {"ovs-ofctl", "add-flow", "unix:" + (ovs_->folder() / "br-int.mgmt").string(),
                "in_port=" + number + " actions=drop"}});

  EXPECT_NO_THROW(waiting.get());
}

TEST_F(PortWiringTest, BeingCancelledEndsTheWait) {
  MakeNeutrons();
  const EventFd cancel;
  auto waiting = StartToWait(cancel.fd());

  cancel.Set();

  std::string said;
  try {
    waiting.get();
  } catch (const std::exception& e) {
    said = e.what();
  }
  // The other one by a machine that was too slow to look before.
  EXPECT_THAT(said, AnyOf(HasSubstr("cancelled: Neutron's agent has not wired port tap1"),
                          HasSubstr("Operation canceled")));
}

TEST_F(PortWiringTest, TheOptionOverrulesTheDatabase) {
  EXPECT_THAT(Describe(WaitForWiring::kOvn), HasSubstr("OVN has not claimed"));
  EXPECT_THAT(Describe(WaitForWiring::kNeutron), HasSubstr("Neutron's agent has not wired"));
  SetNode("ovn-remote=\"tcp:192.0.2.1:6642\"");
  EXPECT_EQ(Describe(WaitForWiring::kOff), "");
}

TEST_F(PortWiringTest, ARestartOfTheDatabaseIsOutlived) {
  SetNode("ovn-remote=\"tcp:192.0.2.1:6642\"");
  auto waiting = StartToWait();

  ovs_->StopServer();
  EXPECT_EQ(waiting.wait_for(200ms), std::future_status::timeout);
  ovs_->StartServer();
  Claim();

  EXPECT_NO_THROW(waiting.get());
}

TEST_F(PortWiringTest, APortThatGoesMeanwhileIsSaidToBeGone) {
  SetNode("ovn-remote=\"tcp:192.0.2.1:6642\"");
  auto waiting = StartToWait();

  Vsctl({"del-port", "tap1"});

  EXPECT_THROW(waiting.get(), OvsError);
}

}  // namespace
}  // namespace kuryr::binding
