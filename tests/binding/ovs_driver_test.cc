#include "binding/ovs_driver.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/event_fd.h"
#include "base/json.h"
#include "binding/link_mark.h"
#include "binding/netlink/route_socket.h"
#include "tests/binding/ovs_vif.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Deadline Soon() { return Deadline::After(60s); }

Attachment PodAttachment(int n) {
  return {.network = "kuryr",
          .container_id = "container-" + std::to_string(n),
          .ifname = "eth0",
          .pod = "default/pod-" + std::to_string(n),
          .pod_uid = "uid-" + std::to_string(n)};
}

class OvsDriverTest : public test::NetnsTest {
 protected:
  void SetUp() override {
    NetnsTest::SetUp();
    ovs_.emplace("/run");
    driver_.emplace(Config());
    pod_.emplace(MakePodNetns());
  }
  void TearDown() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }

  [[nodiscard]] BindingConfig Config() const {
    return {.ovsdb_connection = ovs_->remote(), .datapath_type = "netdev"};
  }
  std::vector<Interface> Connect(const vif::VifOpenVSwitch& vif, const Attachment& attachment,
                                 const Netns& pod) {
    return driver_->Connect(vif, driver_->Plan(vif, "eth0"), attachment, pod, true, Soon());
  }
  std::vector<Interface> ConnectPod(int n, const Netns& pod) {
    return Connect(test::OvsVif(n), PodAttachment(n), pod);
  }
  void DisconnectPod(int n) {
    driver_->Disconnect(driver_->Plan(test::OvsVif(n), "eth0"), PodAttachment(n), Soon());
  }
  void MakeBridge() {
    ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev"});
  }
  std::string Vsctl(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"--no-wait"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return ovs_->Vsctl(all);
  }
  /// Names, addresses, aliases and administrative state of the links in host and pod, and the
  /// database's bridges and interfaces: what must not change.
  std::string State() {
    std::string state;
    for (const std::string& links :
         {RunOnHost({"ip", "-j", "link"}), RunIn(*pod_, {"ip", "-j", "link"})}) {
      for (const nlohmann::json& link : ParseJson(links)) {
        if (link.at("ifname") == "lo") continue;
        const nlohmann::json& flags = link.at("flags");
        const bool up = std::find(flags.begin(), flags.end(), "UP") != flags.end();
        state += link.at("ifname").get<std::string>() + " " +
                 link.at("address").get<std::string>() + " " + link.value("ifalias", "") +
                 (up ? " up\n" : " down\n");
      }
      state += "--\n";
    }
    return state + Vsctl({"--columns=_uuid,name,ports", "list", "Bridge"}) + "\n" +
           Vsctl({"--columns=_uuid,name,external_ids", "list", "Interface"});
  }
  void ExpectNothingLeft() {
    EXPECT_FALSE(RouteSocket().FindLink(*test::OvsVif(1).vif_name).has_value());
    EXPECT_FALSE(RouteSocket::OpenIn(*pod_).FindLink("eth0").has_value());
    EXPECT_EQ(Vsctl({"--columns=name", "find", "Interface", "name=" + *test::OvsVif(1).vif_name}),
              "");
  }

  std::optional<test::PrivateOvs> ovs_;
  std::optional<OvsDriver> driver_;
  std::optional<Netns> pod_;
};

TEST_F(OvsDriverTest, TwoPodsReachEachOther) {
  const Netns other = MakePodNetns();

  ConnectPod(1, *pod_);
  ConnectPod(2, other);

  RunIn(*pod_, {"ping", "-c1", "-W5", "10.1.0.2"});
  RunIn(*pod_, {"ping", "-c1", "-W5", "fd00::2"});
  EXPECT_THAT(RunIn(*pod_, {"ip", "route"}), HasSubstr("default via 10.1.0.254"));
}

TEST_F(OvsDriverTest, ResultSaysWhatTheKernelHas) {
  const auto interfaces = ConnectPod(1, *pod_);

  ASSERT_EQ(interfaces.size(), 2U);
  EXPECT_EQ(interfaces[0].name, "tap450e5c61-1");
  EXPECT_FALSE(interfaces[0].in_pod);
  EXPECT_EQ(interfaces[0].mac, RouteSocket().FindLink("tap450e5c61-1")->mac);
  EXPECT_EQ(interfaces[1], (Interface{.name = "eth0",
                                      .mac = *MacAddress::Parse("fa:16:3e:80:d4:01"),
                                      .mtu = 1450,
                                      .in_pod = true}));
}

TEST_F(OvsDriverTest, PortAndLinkSayWhoseTheyAre) {
  ConnectPod(1, *pod_);

  EXPECT_EQ(Vsctl({"get", "Interface", "tap450e5c61-1", "external_ids"}),
            R"({attached-mac="fa:16:3e:80:d4:01", )"
            R"(iface-id="450e5c61-dc7c-5f0d-84da-bc7052e8b541", iface-status=active, )"
            R"(kuryr-container-id=container-1, kuryr-ifname=eth0, kuryr-network=kuryr, )"
            R"(kuryr-pod-ifname=eth0, vm-uuid=uid-1})");
  EXPECT_EQ(RouteSocket().FindLink("tap450e5c61-1")->alias,
            "kuryr-cni kuryr container-1 eth0 uid-1 default/pod-1");
}

TEST_F(OvsDriverTest, MtuIsTheNetworksOrTheKernelsButNeverAboveTheConfigs) {
  const auto mtu = [&](std::optional<uint32_t> of_network, uint32_t limit) {
    BindingConfig config = Config();
    config.network_device_mtu = limit;
    OvsDriver driver(config);
    vif::VifOpenVSwitch vif = test::OvsVif(1);
    vif.network->mtu.reset();
    if (of_network) vif.network->mtu = *of_network;
    const Plug plug = driver.Plan(vif, "eth0");
    const auto interfaces = driver.Connect(vif, plug, PodAttachment(1), *pod_, true, Soon());
    driver.Disconnect(plug, PodAttachment(1), Soon());
    EXPECT_EQ(interfaces[0].mtu, interfaces[1].mtu);
    return interfaces[1].mtu;
  };

  EXPECT_EQ(mtu(9000, 0), 9000U);
  EXPECT_EQ(mtu(9000, 1400), 1400U);
  EXPECT_EQ(mtu(1300, 1400), 1300U);
  EXPECT_EQ(mtu(std::nullopt, 0), 1500U);
  EXPECT_EQ(mtu(0, 1400), 1400U);
  EXPECT_EQ(mtu(std::nullopt, 9000), 1500U);
}

TEST_F(OvsDriverTest, DisconnectRemovesAllAndMayBeRepeated) {
  MakeBridge();
  const std::string before = State();
  ConnectPod(1, *pod_);

  DisconnectPod(1);
  EXPECT_EQ(State(), before);
  DisconnectPod(1);
  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverTest, DisconnectRemovesThePortWhenThePodIsGoneWithItsVeth) {
  ConnectPod(1, *pod_);
  RouteSocket().DeleteLink("tap450e5c61-1");

  DisconnectPod(1);

  ExpectNothingLeft();
}

TEST_F(OvsDriverTest, DisconnectRemovesTheLinkEvenWithOvsDown) {
  ConnectPod(1, *pod_);
  ovs_->StopServer();

  EXPECT_THROW(DisconnectPod(1), std::system_error);

  EXPECT_FALSE(RouteSocket().FindLink("tap450e5c61-1").has_value());
  ovs_->StartServer();
  DisconnectPod(1);
  ExpectNothingLeft();
}

TEST_F(OvsDriverTest, DisconnectNeedsNoVswitchd) {
  ConnectPod(1, *pod_);
  ovs_->StopVswitchd();

  DisconnectPod(1);

  ExpectNothingLeft();
}

TEST_F(OvsDriverTest, DisconnectOfAnotherAttachmentTouchesNothing) {
  ConnectPod(1, *pod_);
  const Plug plug = driver_->Plan(test::OvsVif(1), "eth0");
  const std::string before = State();

  for (std::string Attachment::* member :
       {&Attachment::network, &Attachment::container_id, &Attachment::ifname}) {
    Attachment other = PodAttachment(1);
    other.*member = "other";
    driver_->Disconnect(plug, other, Soon());
  }

  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverTest, ReconnectedPortCarriesPackets) {
  const Netns other = MakePodNetns();
  ConnectPod(2, other);
  for (int i = 0; i < 3; ++i) {
    ConnectPod(1, *pod_);
    RunIn(*pod_, {"ping", "-c1", "-W5", "10.1.0.2"});
    DisconnectPod(1);
  }
}

TEST_F(OvsDriverTest, OlderSandboxOfTheSamePodIsReplaced) {
  const Netns older = MakePodNetns();
  const Netns other = MakePodNetns();
  ConnectPod(2, other);
  Attachment attachment = PodAttachment(1);
  attachment.container_id = "older";
  Connect(test::OvsVif(1), attachment, older);

  ConnectPod(1, *pod_);

  EXPECT_FALSE(RouteSocket::OpenIn(older).FindLink("eth0").has_value());
  RunIn(*pod_, {"ping", "-c1", "-W5", "10.1.0.2"});
  const std::string before = State();
  driver_->Disconnect(driver_->Plan(test::OvsVif(1), "eth0"), attachment, Soon());
  EXPECT_EQ(State(), before) << "the late DEL of the older sandbox";
}

TEST_F(OvsDriverTest, PortThatOutlivedItsDeviceIsReplaced) {
  const Netns other = MakePodNetns();
  ConnectPod(2, other);
  ConnectPod(1, *pod_);
  RouteSocket().DeleteLink("tap450e5c61-1");

  ConnectPod(1, *pod_);

  RunIn(*pod_, {"ping", "-c1", "-W5", "10.1.0.2"});
}

TEST_F(OvsDriverTest, UnfinishedVethIsReplacedOrRemoved) {
  MakeBridge();
  const auto make = [&] {
    RouteSocket().CreateVeth(
        {.name = "tap450e5c61-1", .peer_name = "eth9", .peer_netns_fd = pod_->fd()});
  };
  make();
  ConnectPod(1, *pod_);
  EXPECT_FALSE(RouteSocket::OpenIn(*pod_).FindLink("eth9").has_value());
  DisconnectPod(1);

  make();
  DisconnectPod(1);

  ExpectNothingLeft();
}

/// What a hostile annotation may name, and what must stay as it is.
class OvsDriverRefusalTest : public OvsDriverTest {
 protected:
  void SetUp() override {
    OvsDriverTest::SetUp();
    MakeBridge();
  }
  void ExpectRefused(const vif::VifOpenVSwitch& vif, const std::string& reason) {
    const Plug plug = driver_->Plan(vif, "eth0");
    const std::string before = State();
    try {
      driver_->Connect(vif, plug, PodAttachment(1), *pod_, true, Soon());
      ADD_FAILURE() << "accepted";
    } catch (const HostInterfaceInUse& e) {
      EXPECT_THAT(e.what(), HasSubstr(reason));
    }
    EXPECT_EQ(State(), before);
    driver_->Disconnect(plug, PodAttachment(1), Soon());
    EXPECT_EQ(State(), before) << "after the DEL that follows";
  }
};

TEST_F(OvsDriverRefusalTest, InterfaceOfAnotherPod) {
  const Netns other = MakePodNetns();
  ConnectPod(2, other);
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.vif_name = test::OvsVif(2).vif_name;
  ExpectRefused(vif, "belongs to pod default/pod-2");

  vif.port_profile = test::OvsVif(2).port_profile;
  ExpectRefused(vif, "belongs to pod default/pod-2");
}

TEST_F(OvsDriverRefusalTest, InterfaceOfTheNode) {
  // As eth0 would be: up, and not made by us.
  RunOnHost({"ip", "link", "add", "uplink", "up", "type", "veth", "peer", "name", "wire"});
  RunOnHost({"ip", "link", "set", "wire", "down"});
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  for (const char* name : {"uplink", "br-int", "lo"}) {
    vif.vif_name = std::string(name);
    ExpectRefused(vif, "was not made by kuryr-cni");
  }
}

TEST_F(OvsDriverRefusalTest, PortWithoutADevice) {
  Vsctl({"add-port", "br-int", "tunnel0", "--", "set", "Interface", "tunnel0", "type=vxlan",
         "options:remote_ip=192.0.2.1"});
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.vif_name = std::string("tunnel0");

  ExpectRefused(vif, "port tunnel0 on bridge br-int");
}

TEST_F(OvsDriverRefusalTest, SecondVifOfThePodWithTheSameName) {
  ConnectPod(1, *pod_);
  const vif::VifOpenVSwitch vif = test::OvsVif(1);
  const std::string before = State();

  EXPECT_THROW(
      driver_->Connect(vif, driver_->Plan(vif, "eth1"), PodAttachment(1), *pod_, false, Soon()),
      HostInterfaceInUse);

  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverTest, TakenInterfaceNameInThePodIsLeftAlone) {
  MakeBridge();
  RunIn(*pod_, {"ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1"});
  const std::string before = State();

  EXPECT_THROW(ConnectPod(1, *pod_), InterfaceExists);

  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverTest, OvsDownFailsAtOnceAndTouchesNothing) {
  MakeBridge();
  const std::string before = State();
  ovs_->StopServer();

  EXPECT_THROW(ConnectPod(1, *pod_), std::system_error);

  ovs_->StartServer();
  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverTest, AbsurdMtuLeavesNothing) {
  MakeBridge();
  const std::string before = State();
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.network->mtu = 1000000U;

  EXPECT_THROW(Connect(vif, PodAttachment(1), *pod_), std::system_error);

  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverTest, BridgeThatCannotBeMadeLeavesNothing) {
  vif::PortProfileOpenVSwitch profile;
  profile.interface_id = std::string("450e5c61");
  profile.datapath_type = std::string("nonsense");
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.port_profile = vif::PortProfile(profile);
  const std::string before = State();

  EXPECT_THROW(Connect(vif, PodAttachment(1), *pod_), std::system_error);

  EXPECT_EQ(State(), before);
}

TEST_F(OvsDriverTest, BridgeNamedLikeALinkOfTheNodeLeavesNothing) {
  RunOnHost({"ip", "link", "add", "uplink", "up", "type", "veth", "peer", "name", "wire"});
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif.bridge_name = std::string("uplink");

  EXPECT_THROW(Connect(vif, PodAttachment(1), *pod_), std::system_error);

  ExpectNothingLeft();
  EXPECT_EQ(Vsctl({"list-br"}), "");
  EXPECT_TRUE(RouteSocket().FindLink("uplink")->up);
}

TEST_F(OvsDriverTest, SilentVswitchdEndsAtTheTimeoutAndLeavesNothing) {
  MakeBridge();
  const std::string before = State();
  ovs_->StopVswitchd();
  BindingConfig config = Config();
  config.ovs_timeout = 1s;
  OvsDriver driver(config);
  const vif::VifOpenVSwitch vif = test::OvsVif(1);

  EXPECT_THROW(driver.Connect(vif, driver.Plan(vif, "eth0"), PodAttachment(1), *pod_, true, Soon()),
               std::system_error);

  ExpectNothingLeft();
  ovs_->StartVswitchd();
}

TEST_F(OvsDriverTest, CancelledConnectLeavesNothing) {
  ovs_->StopVswitchd();
  const EventFd cancel;
  const vif::VifOpenVSwitch vif = test::OvsVif(1);
  const std::jthread canceller([&, host = Netns::Current()] {
    const NetnsGuard guard(host);
    // Once the port is asked for, the driver waits for ovs-vswitchd.
    ovs_->Vsctl({"--no-wait", "wait-until", "Interface", *vif.vif_name});
    cancel.Set();
  });

  EXPECT_THROW(driver_->Connect(vif, driver_->Plan(vif, "eth0"), PodAttachment(1), *pod_, true,
                                Deadline::After(60s, cancel.fd())),
               std::system_error);

  ExpectNothingLeft();
  EXPECT_EQ(Vsctl({"list-br"}), "") << "the bridge was made by this Connect";
}

TEST_F(OvsDriverTest, InterfaceThatVanishesFromThePodLeavesNothing) {
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

TEST_F(OvsDriverTest, FailingLayer3LeavesNothing) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif::Subnet subnet;
  vif.network->subnets->objects->push_back(subnet);

  EXPECT_THROW(Connect(vif, PodAttachment(1), *pod_), ParseError);

  ExpectNothingLeft();
  EXPECT_EQ(Vsctl({"list-br"}), "") << "the bridge was made by this Connect";
}

TEST_F(OvsDriverTest, FindPlugsGivesWhatTheRecordSaid) {
  MakeBridge();
  vif::VifOpenVSwitch second = test::OvsVif(2);
  second.network->subnets.reset();
  const std::vector<Plug> plugs = {driver_->Plan(test::OvsVif(1), "eth0"),
                                   driver_->Plan(second, "eth1")};
  driver_->Connect(test::OvsVif(1), plugs[0], PodAttachment(1), *pod_, true, Soon());
  driver_->Connect(second, plugs[1], PodAttachment(1), *pod_, false, Soon());
  Attachment known = PodAttachment(1);
  known.pod.clear();
  known.pod_uid.clear();

  EXPECT_THAT(driver_->FindPlugs(known, Soon()), ::testing::UnorderedElementsAreArray(plugs));
  known.ifname = "net1";
  EXPECT_THAT(driver_->FindPlugs(known, Soon()), ::testing::IsEmpty());
}

TEST_F(OvsDriverTest, ManyPodsAtOnce) {
  constexpr int kPods = 8;
  std::vector<Netns> pods;
  for (int n = 0; n < kPods; ++n) pods.push_back(MakePodNetns());
  const auto on_all = [&](auto action) {
    std::vector<std::jthread> threads;
    for (int n = 0; n < kPods; ++n) threads.emplace_back([&, n] { action(n); });
  };

  on_all([&](int n) { EXPECT_NO_THROW(ConnectPod(n, pods[static_cast<size_t>(n)])); });
  RunIn(pods[1], {"ping", "-c1", "-W5", "10.1.0.2"});
  const std::string ports = Vsctl({"list-ports", "br-int"});
  EXPECT_EQ(std::count(ports.begin(), ports.end(), '\n') + 1, kPods);
  on_all([&](int n) { EXPECT_NO_THROW(DisconnectPod(n)); });

  EXPECT_EQ(Vsctl({"list-ports", "br-int"}), "");
}

}  // namespace
}  // namespace kuryr::binding
