#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stop_token>
#include <thread>

#include "base/error.h"
#include "base/event_fd.h"
#include "binding/links/link_mark.h"
#include "tests/binding/drivers/ovs_driver_fixture.h"
#include "tests/support/at_deadline.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class OvsDriverFaultTest : public OvsDriverTest {
 protected:
  /// A bridge that the operator has named, in userspace where it has to be made.
  void Allow(const std::string& bridge) {
    BindingConfig config = Config();
    config.bridges = {bridge};
    config.datapath_type = kUserspaceDatapath;
    driver_ = NewOvsDriver({config, shared_});
  }
};

/// For pods that were deleted and made again with the port they had before.
class ReplacedPodTest : public OvsDriverTest {
 protected:
  void SetUp() override {
    OvsDriverTest::SetUp();
    MakeBridge();
    Connect(test::OvsVif(1), Older(), MakePodNetns());
  }
  static Attachment Older() {
    Attachment older = PodAttachment(1);
    older.container_id = "older";
    older.pod_uid = "older-uid";
    return older;
  }
  /// The older pod's, of which the ADD that waits for it is told.
  std::jthread DelWhenSomebodyWaits() {
    return std::jthread(
        [this, host = Netns::Current(), before = CountListeners()](const std::stop_token& over) {
          const NetnsGuard guard(host);
          while (CountListeners() == before) {
            if (over.stop_requested()) return;
            std::this_thread::yield();
          }
          driver_->Disconnect(driver_->Plan({"eth0", true, test::OvsVif(1)}).plug, Older(), Soon());
        });
  }

  /// Sockets of the host that are told of links: netlink(7), group 1 of protocol 0.
  static size_t CountListeners() {
    std::ifstream sockets("/proc/thread-self/net/netlink");
    size_t count = 0;
    std::string address, protocol, port, groups;
    for (std::string line; std::getline(sockets, line);) {
      std::istringstream(line) >> address >> protocol >> port >> groups;
      if (protocol == "0" && std::strtoul(groups.c_str(), nullptr, 16) % 2 == 1) ++count;
    }
    return count;
  }
};

/// Names that a hostile annotation may have; the things of these names must stay as they are.
class OvsDriverRefusalTest : public OvsDriverTest {
 protected:
  void SetUp() override {
    OvsDriverTest::SetUp();
    MakeBridge();
  }
  void ExpectRefused(const vif::VifOpenVSwitch& vif, const std::string& reason) {
    const Planned planned = driver_->Plan({"eth0", true, vif});
    const std::string before = State();
    try {
      driver_->Connect({planned, PodAttachment(1), *pod_, Soon()});
      ADD_FAILURE() << "accepted";
    } catch (const HostInterfaceInUse& e) {
      EXPECT_THAT(e.what(), HasSubstr(reason));
    }
    EXPECT_EQ(State(), before);
    driver_->Disconnect(planned.plug, PodAttachment(1), Soon());
    EXPECT_EQ(State(), before) << "after the DEL that follows";
  }
};

TEST_F(OvsDriverRefusalTest, InterfaceOfAnotherPod) {
  const Netns other = MakePodNetns();
  ConnectPod(2, other);
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.vif_name = test::OvsVif(2).vif_name;
  ExpectRefused(vif, "belongs to another pod");

  vif.port_profile = test::OvsVif(2).port_profile;
  ExpectRefused(vif, "belongs to another pod");
}

TEST_F(OvsDriverRefusalTest, InterfaceOfTheNode) {
  // As eth0 would be: up, and not made by us.
  RunOnHost({"ip", "link", "add", "uplink", "up", "type", "veth", "peer", "name", "wire"});
  RunOnHost({"ip", "link", "set", "wire", "down"});
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  for (const char* name : {"uplink", "wire", "br-int", "lo"}) {
    vif.vif_name = std::string(name);
    ExpectRefused(vif, "was not made by kuryr-cni");
  }
}

TEST_F(OvsDriverRefusalTest, InterfaceThatAnotherPodIsAboutToGet) {
  RouteSocket().CreateVeth(
      {.name = "tap0", .peer_name = "eth9", .group = BirthGroup(PodAttachment(2))});
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.vif_name = std::string("tap0");

  ExpectRefused(vif, "tap0 was not made by kuryr-cni for this pod");
}

TEST_F(OvsDriverRefusalTest, PortWithoutADevice) {
  Vsctl({"add-port", "br-int", "tunnel0", "--", "set", "Interface", "tunnel0", "type=vxlan",
         "options:remote_ip=192.0.2.1"});
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.vif_name = std::string("tunnel0");

  ExpectRefused(vif, "port tunnel0 of Open vSwitch is another's");
}

TEST_F(OvsDriverRefusalTest, SecondVifOfThePodWithTheSameName) {
  ConnectPod(1, *pod_);
  const vif::VifOpenVSwitch vif = test::OvsVif(1);
  const std::string before = State();

  EXPECT_THROW(
      driver_->Connect({driver_->Plan({"eth1", false, vif}), PodAttachment(1), *pod_, Soon()}),
      HostInterfaceInUse);

  EXPECT_EQ(State(), before);
}

TEST_F(ReplacedPodTest, ItsDelIsWaitedFor) {
  const std::jthread del = DelWhenSomebodyWaits();

  ConnectPod(1, *pod_);

  EXPECT_THAT(Vsctl({"get", "Interface", *test::OvsVif(1).vif_name, "external_ids:vm-uuid"}),
              HasSubstr("uid-1"));
  RunIn(*pod_, {"ip", "address", "show", "dev", "eth0", "up"});
}

TEST_F(ReplacedPodTest, OneThatStaysEndsTheAddAtItsDeadline) {
  const std::string before = State();
  const vif::VifOpenVSwitch vif = test::OvsVif(1);

  EXPECT_THAT(
      test::SaidAtDeadline<HostInterfaceInUse>([&](const Deadline& deadline) {
        driver_->Connect({driver_->Plan({"eth0", true, vif}), PodAttachment(1), *pod_, deadline});
      }),
      HasSubstr("belongs to another pod"));

  EXPECT_EQ(State(), before);
}

TEST_F(ReplacedPodTest, NobodyWaitsForAPodOfAnotherName) {
  Attachment stranger = PodAttachment(1);
  stranger.pod = "default/stranger";
  const vif::VifOpenVSwitch vif = test::OvsVif(1);
  const std::jthread del = DelWhenSomebodyWaits();

  EXPECT_THROW(driver_->Connect({driver_->Plan({"eth0", true, vif}), stranger, *pod_, Soon()}),
               HostInterfaceInUse);
}

TEST_F(OvsDriverFaultTest, TakenInterfaceNameInThePodIsLeftAlone) {
  MakeBridge();
  RunIn(*pod_, {"ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1"});
  const std::string before = State();

  EXPECT_THROW(ConnectPod(1, *pod_), InterfaceExists);

  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverFaultTest, OvsDownFailsAtOnceAndTouchesNothingWhereNobodyIsToWait) {
  MakeBridge();
  BindingConfig config = Config();
  config.ovsdb_wait = 0s;
  driver_ = NewOvsDriver({config, shared_});
  const std::string before = State();
  const auto next_index = [] {
    RouteSocket socket;
    socket.CreateVeth(
        {.name = "probe", .peer_name = "probe2", .peer_netns_fd = Netns::Current().fd()});
    const int index = socket.FindLink("probe")->index;
    socket.DeleteLink("probe");
    return index;
  };
  const int index = next_index();
  ovs_->StopServer();

  EXPECT_THROW(ConnectPod(1, *pod_), OvsUnreachable);

  EXPECT_EQ(next_index(), index + 2) << "a link was made meanwhile";
  ovs_->StartServer();
  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverFaultTest, HostEndThatVswitchdSetDownIsSetUpAgain) {
  MakeBridge();
  ovs_->vswitchd().Signal(SIGSTOP);
  const vif::VifOpenVSwitch vif = test::OvsVif(1);
  const std::jthread meanwhile([&, host = Netns::Current()] {
    const NetnsGuard guard(host);
    ovs_->Vsctl({"--no-wait", "wait-until", "Interface", *vif.vif_name});
    RunOnHost({"ip", "link", "set", *vif.vif_name, "down"});
    ovs_->vswitchd().Signal(SIGCONT);
  });

  ConnectPod(1, *pod_);

  EXPECT_TRUE(RouteSocket().FindLink(*vif.vif_name)->up);
}

TEST_F(OvsDriverFaultTest, AbsurdMtuLeavesNothing) {
  MakeBridge();
  const std::string before = State();
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.network->mtu = 1000000U;

  EXPECT_THROW(Connect(vif, PodAttachment(1), *pod_), std::system_error);

  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverFaultTest, BridgeThatCannotBeMadeLeavesNothing) {
  BindingConfig config = Config();
  config.datapath_type = "nonsense";
  driver_ = NewOvsDriver({config, shared_});
  const std::string before = State();

  EXPECT_THROW(ConnectPod(1, *pod_), std::system_error);

  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverFaultTest, BridgeThatTheOperatorHasNotNamedIsNotMade) {
  BindingConfig config = Config();
  config.bridges = {"br-*"};
  driver_ = NewOvsDriver({config, shared_});
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.bridge_name = std::string("br-own");
  const std::string before = State();

  EXPECT_THROW(Connect(vif, PodAttachment(1), *pod_), UnsupportedVif);

  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverFaultTest, DatapathOfAMissingBridgeIsNotTheVifsToChoose) {
  vif::PortProfileOpenVSwitch profile;
  profile.interface_id = std::string("450e5c61");
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  const bool is_kernels = Config().datapath_type == "system";
  profile.datapath_type = std::string(is_kernels ? "netdev" : "system");
  vif.port_profile = vif::PortProfile(profile);
  const std::string before = State();

  EXPECT_THROW(Connect(vif, PodAttachment(1), *pod_), UnsupportedVif);
  EXPECT_EQ(State(), before);

  MakeBridge();
  Connect(vif, PodAttachment(1), *pod_);
  EXPECT_EQ(Vsctl({"get", "Bridge", "br-int", "datapath_type"}), Config().datapath_type);
}

TEST_F(OvsDriverFaultTest, BridgeNamedLikeALinkOfTheNodeLeavesNothing) {
  RunOnHost({"ip", "link", "add", "uplink", "up", "type", "veth", "peer", "name", "wire"});
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.bridge_name = std::string("uplink");
  Allow("uplink");

  EXPECT_THROW(Connect(vif, PodAttachment(1), *pod_), HostInterfaceInUse);

  ExpectNothingLeft();
  EXPECT_EQ(Vsctl({"list-br"}), "");
  EXPECT_TRUE(RouteSocket().FindLink("uplink")->up);
}

TEST_F(OvsDriverFaultTest, TapThatNobodyHoldsIsNotMadeABridge) {
  if (test::RunProgram({.argv = {"ip", "tuntap", "add", "tap-vm", "mode", "tap"}}).status != 0)
    GTEST_SKIP() << "the kernel has no taps (module tun)";
  const std::string before = RunOnHost({"ip", "-d", "-o", "link", "show", "tap-vm"});
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.bridge_name = std::string("tap-vm");
  Allow("tap-vm");

  EXPECT_THROW(Connect(vif, PodAttachment(1), *pod_), HostInterfaceInUse);

  ExpectNothingLeft();
  EXPECT_EQ(Vsctl({"list-br"}), "");
  EXPECT_EQ(RunOnHost({"ip", "-d", "-o", "link", "show", "tap-vm"}), before);
}

TEST_F(OvsDriverFaultTest, SilentVswitchdEndsAtTheTimeoutAndLeavesNothing) {
  MakeBridge();
  ovs_->StopVswitchd();
  BindingConfig config = Config();
  config.ovs_timeout = 1s;
  const auto driver = NewOvsDriver({config, shared_});
  const vif::VifOpenVSwitch vif = test::OvsVif(1);
  const auto start = Deadline::Clock::now();

  EXPECT_THROW(
      driver->Connect({driver->Plan({"eth0", true, vif}), PodAttachment(1), *pod_, Soon()}),
      std::system_error);

  EXPECT_LT(Deadline::Clock::now() - start, 30s) << "the config's timeout, not the caller's";
  ExpectNothingLeft();
}

TEST_F(OvsDriverFaultTest, CancelledConnectLeavesNothing) {
  ovs_->StopVswitchd();
  const EventFd cancel;
  const vif::VifOpenVSwitch vif = test::OvsVif(1);
  const std::jthread canceller([&, host = Netns::Current()] {
    const NetnsGuard guard(host);
    // Once the port is asked for, the driver waits for ovs-vswitchd.
    ovs_->Vsctl({"--no-wait", "wait-until", "Interface", *vif.vif_name});
    cancel.Set();
  });

  EXPECT_THROW(driver_->Connect({driver_->Plan({"eth0", true, vif}), PodAttachment(1), *pod_,
                                 Deadline::After(60s, cancel.fd())}),
               std::system_error);

  ExpectNothingLeft();
  EXPECT_EQ(Vsctl({"list-br"}), "") << "the bridge was made by this Connect";
}

TEST_F(OvsDriverFaultTest, InterfaceThatVanishesFromThePodLeavesNothing) {
  MakeBridge();
  ovs_->vswitchd().Signal(SIGSTOP);
  const vif::VifOpenVSwitch vif = test::OvsVif(1);
  const std::jthread runtime([&] {
    ovs_->Vsctl({"--no-wait", "wait-until", "Interface", *vif.vif_name});
    RouteSocket inside = RouteSocket::OpenIn(*pod_);
    while (!inside.DeleteLink("eth0")) std::this_thread::yield();
    ovs_->vswitchd().Signal(SIGCONT);
  });

  EXPECT_THROW(ConnectPod(1, *pod_), std::system_error);

  ExpectNothingLeft();
}

TEST_F(OvsDriverFaultTest, FailingLayer3LeavesNothing) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif::Subnet subnet;
  vif.network->subnets->objects->push_back(subnet);

  EXPECT_THROW(Connect(vif, PodAttachment(1), *pod_), ParseError);

  ExpectNothingLeft();
  EXPECT_EQ(Vsctl({"list-br"}), "") << "the bridge was made by this Connect";
}

}  // namespace
}  // namespace kuryr::binding
