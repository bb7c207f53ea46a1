// The connection to ovsdb-server ends while a port is added: what was done is not done twice.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <future>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "binding/netlink/route_socket.h"
#include "binding/ovs/open_vswitch.h"
#include "tests/binding/ovs/as_drivers.h"
#include "tests/binding/ovs/losing_proxy.h"
#include "tests/binding/pod_attachment.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {
namespace {

using namespace std::chrono_literals;

class LostAnswerTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    ovs_.emplace("/run");
    RouteSocket().CreateVeth(
        {.name = "tap0", .peer_name = "peer", .peer_netns_fd = Netns::Current().fd()});
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }

  static OvsPort Port() {
    return {.name = "tap0",
            .bridge = "br-int",
            .external_ids = {{"kuryr-container-id", "c0ffee"}, {"kuryr-network", "kuryr"}},
            .datapath_type = test::PrivateOvs::datapath_type(),
            .qos_type = "linux-noop"};
  }
  std::string Vsctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--no-wait");
    return ovs_->Vsctl(arguments);
  }
  void MakeBridge() {
    ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int",
                 "datapath_type=" + test::PrivateOvs::datapath_type()});
  }
  /// Adds the port where the answer to the request with `words` is lost, until it is up.
  AddedPort AddThrough(const std::string& words) {
    const LosingProxy proxy(ovs_->remote(), words);
    OpenVSwitch patient(LosingProxy::remote(), nullptr, 1min);
    patient.WaitUntilLetGo("tap0", Soon());
    auto result = patient.AddPort(Port(), Soon(), AsDrivers(Port()));
    auto added = std::get<AddedPort>(result);
    patient.WaitUntilUp(Port(), added, Soon());
    EXPECT_TRUE(proxy.has_lost());
    return added;
  }
  void ExpectOnePort() {
    EXPECT_EQ(Vsctl({"list-ports", "br-int"}), "tap0");
    const std::string qos = Vsctl({"--bare", "--columns=type", "list", "QoS"});
    EXPECT_EQ(qos, "linux-noop");
    EXPECT_GE(std::stoi(Vsctl({"get", "Interface", "tap0", "ofport"})), 1);
  }

  std::optional<test::PrivateOvs> ovs_;
};

TEST_F(LostAnswerTest, APortThatWasAddedIsThereOnce) {
  MakeBridge();

  AddThrough("linux-noop");

  ExpectOnePort();
}

TEST_F(LostAnswerTest, ABridgeThatWasMadeIsStillKnownToBeItsOwn) {
  const AddedPort added = AddThrough(R"("uuid-name":"bridge")");

  ExpectOnePort();
  ASSERT_TRUE(added.created_bridge.has_value());
  OpenVSwitch ovs(ovs_->remote());
  EXPECT_TRUE(ovs.DeletePort("tap0", {}, Soon()));
  ovs.DeleteEmptyBridge(*added.created_bridge, Soon());
  EXPECT_EQ(Vsctl({"list-br"}), "");
}

TEST_F(LostAnswerTest, WhatIsReadOrWatchedIsAskedForAgain) {
  MakeBridge();
  for (const char* words : {"cur_cfg", "monitor_cond"}) {
    AddThrough(words);
    ExpectOnePort();
    OpenVSwitch(ovs_->remote()).DeletePort("tap0", {}, Soon());
  }
}

TEST_F(LostAnswerTest, WithoutPatienceNothingIsAskedForAgain) {
  MakeBridge();
  const LosingProxy proxy(ovs_->remote(), "linux-noop");
  OpenVSwitch hasty(LosingProxy::remote());

  EXPECT_THROW((void)hasty.AddPort(Port(), Soon()), OvsdbConnectionLost);

  EXPECT_EQ(Vsctl({"list-ports", "br-int"}), "tap0") << "it was done";
}

TEST_F(LostAnswerTest, ARestartWhileVswitchdSetsThePortUpIsOutlived) {
  MakeBridge();
  ovs_->vswitchd().Signal(SIGSTOP);
  OpenVSwitch patient(ovs_->remote(), nullptr, 1min);
  const auto result = patient.AddPort(Port(), Soon());
  auto waiting = std::async(std::launch::async, [&] {
    patient.WaitUntilUp(Port(), std::get<AddedPort>(result), Soon());
  });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);

  ovs_->StopServer();
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  ovs_->StartServer();
  ovs_->vswitchd().Signal(SIGCONT);

  EXPECT_NO_THROW(waiting.get());
  ExpectOnePort();
}

TEST_F(LostAnswerTest, ARestartWhileVswitchdAppliesWhatWasBeforeIsOutlived) {
  MakeBridge();
  ovs_->vswitchd().Signal(SIGSTOP);
  Vsctl({"set", "Open_vSwitch", ".", "next_cfg=1000000"});
  OpenVSwitch patient(ovs_->remote(), nullptr, 1min);
  auto waiting = std::async(std::launch::async, [&] { patient.WaitUntilLetGo("tap0", Soon()); });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);

  ovs_->StopServer();
  ovs_->StartServer();
  ovs_->vswitchd().Signal(SIGCONT);

  EXPECT_NO_THROW(waiting.get());
}

}  // namespace
}  // namespace kuryr::binding
