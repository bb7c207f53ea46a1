#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "binding/drivers/binding.h"
#include "binding/links/link_mark.h"
#include "tests/binding/differences.h"
#include "tests/binding/drivers/ovs_driver_fixture.h"

namespace kuryr::binding {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(OvsDriverTest, TwoPodsReachEachOther) {
  const Netns other = MakePodNetns();

  ConnectPod(1, *pod_);
  ConnectPod(2, other);

  RunIn(*pod_, {"ping", "-c1", "-W5", "10.1.0.2"});
  RunIn(*pod_, {"ping", "-c1", "-W5", "fd00::2"});
  EXPECT_THAT(RunIn(*pod_, {"ip", "route"}), HasSubstr("default via 10.1.0.254"));
}

TEST_F(OvsDriverTest, PodsWithoutANetworkOnTheirLinkReachTheirGatewayAlone) {
  const Netns other = MakePodNetns();
  Connect(test::AloneVif(1), PodAttachment(1), *pod_);
  Connect(test::AloneVif(2), PodAttachment(2), other);
  Vsctl({"add-port", "br-int", "gw", "--", "set", "Interface", "gw", "type=internal"});
  ovs_->Vsctl({"wait-until", "Interface", "gw", "ofport>0"});
  RunOnHost({"ip", "link", "set", "gw", "up"});
  RunOnHost({"ip", "address", "add", "10.1.0.254/24", "dev", "gw"});

  RunIn(*pod_, {"ping", "-c1", "-W5", "10.1.0.254"});
  RunIn(*pod_, {"ip", "route", "add", "10.1.0.2", "dev", "eth0"});
  RunIn(*pod_, {"sh", "-c", "! ping -c1 -W1 10.1.0.2"});
}

TEST_F(OvsDriverTest, ProtectionThatIsTakenAwayIsADifferenceAndRepaired) {
  Connect(test::AloneVif(1), PodAttachment(1), *pod_);
  const Planned planned = driver_->Plan({"eth0", true, test::AloneVif(1)});
  const Attachment attachment = PodAttachment(1);
  const PlugRequest request = {planned, attachment, *pod_, Soon()};
  EXPECT_THAT(driver_->Check(request), IsEmpty());
  ovs_->Vsctl({"set", "Port", "tap450e5c61-1", "protected=false"});

  EXPECT_THAT(FirstOf(driver_->Check(request)).value(), HasSubstr("is not protected"));
  (void)driver_->Repair(request);
  EXPECT_THAT(driver_->Check(request), IsEmpty());
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
            R"(iface-id="450e5c61-dc7c-5f0d-84da-bc7052e8b541", iface-id-ver=uid-1, )"
            R"(iface-status=active, )"
            R"(kuryr-container-id=container-1, kuryr-driver=ovs, kuryr-ifname=eth0, )"
            R"(kuryr-network=kuryr, kuryr-pod-ifname=eth0, vm-uuid=uid-1})");
  EXPECT_EQ(RouteSocket().FindLink("tap450e5c61-1")->alias,
            "kuryr-cni kuryr container-1 eth0 uid-1 default/pod-1");
}

TEST_F(OvsDriverTest, FullMtuPassesUnfragmented) {
  const Netns other = MakePodNetns();
  ConnectPod(1, *pod_);
  ConnectPod(2, other);

  RunIn(*pod_, {"ping", "-c1", "-W5", "-Mdo", "-s1422", "10.1.0.2"});
  RunIn(*pod_, {"ping", "-c1", "-W5", "-Mdo", "-s1402", "fd00::2"});
}

TEST_F(OvsDriverTest, IsolatedPortPassesNothingUntilItIsGivenItsVlan) {
  BindingConfig config = Config();
  config.isolate_vif = true;
  driver_ = NewOvsDriver({config, shared_});
  const Netns other = MakePodNetns();
  ConnectPod(1, *pod_);
  ConnectPod(2, other);
  EXPECT_EQ(Vsctl({"get", "Port", "tap450e5c61-1", "tag", "trunks", "vlan_mode"}),
            "4095\n[4095]\ntrunk");
  RunIn(*pod_, {"sh", "-c", "! ping -c1 -W1 10.1.0.2"});

  // As Neutron's agent does.
  for (const char* port : {"tap450e5c61-1", "tap450e5c61-2"}) {
    ovs_->Vsctl({"set", "Port", port, "tag=7", "--", "clear", "Port", port, "trunks", "vlan_mode"});
  }
  ovs_->ForgetFlows();

  // Or it would fail with the first one's three questions, which all may have been asked before.
  RunIn(*pod_, {"ip", "neighbour", "flush", "dev", "eth0"});
  RunIn(*pod_, {"ping", "-c1", "-W5", "10.1.0.2"});
}

TEST_F(OvsDriverTest, QosRowComesAndGoesWithThePort) {
  ConnectPod(1, *pod_);
  EXPECT_EQ(
      Vsctl({"--bare", "--columns=type", "find", "QoS", "external_ids:kuryr-port=tap450e5c61-1"}),
      "linux-noop");
  DisconnectPod(1);
  EXPECT_EQ(Vsctl({"list", "QoS"}), "");

  BindingConfig config = Config();
  config.default_qos_type = "";
  driver_ = NewOvsDriver({config, shared_});
  ConnectPod(1, *pod_);
  EXPECT_EQ(Vsctl({"list", "QoS"}), "");
}

TEST_F(OvsDriverTest, LimitsThatArePlannedAreComparedAndRepaired) {
  ConnectPod(1, *pod_);
  Planned planned = driver_->Plan({"eth0", true, test::OvsVif(1)});
  PlanLimits({.received = {.rate = 20'000'000, .burst = 4'000'000}, .sent = {.rate = 10'000'000}},
             planned);
  const Attachment attachment = PodAttachment(1);
  const PlugRequest request = {planned, attachment, *pod_, Soon()};

  std::vector<std::string> texts;
  for (const Difference& difference : driver_->Repair(request)) {
    EXPECT_EQ(difference.kind, DifferenceKind::kQos);
    EXPECT_TRUE(difference.live_safe);
    texts.push_back(difference.text);
  }

  const std::string port = "Open vSwitch port tap450e5c61-1 has ";
  EXPECT_THAT(texts,
              ElementsAre(port + "ingress_policing_rate 0 instead of 10000",
                          port + "ingress_policing_burst 0 instead of 8000",
                          port + "linux-noop instead of linux-htb max-rate=20000000, queue 0: "
                                 "burst=4000000 max-rate=20000000 min-rate=20000000"));
  EXPECT_THAT(driver_->Check(request), IsEmpty());
  DisconnectPod(1);
  EXPECT_EQ(Vsctl({"list", "QoS"}) + Vsctl({"list", "Queue"}), "");
}

TEST_F(OvsDriverTest, WithoutALimitAnotherProgramsStays) {
  ConnectPod(1, *pod_);
  Vsctl({"set", "Interface", "tap450e5c61-1", "ingress_policing_rate=7"});
  const Planned planned = driver_->Plan({"eth0", true, test::OvsVif(1)});
  const Attachment attachment = PodAttachment(1);

  EXPECT_THAT(driver_->Repair({planned, attachment, *pod_, Soon()}), IsEmpty());

  EXPECT_EQ(Vsctl({"get", "Interface", "tap450e5c61-1", "ingress_policing_rate"}), "7");
}

// CNI's bandwidth plugin sets queueing. Without a QoS row ovs-vswitchd clears it when it starts.
TEST_F(OvsDriverTest, QueueingSetByOthersOutlivesARestartOfVswitchd) {
  ConnectPod(1, *pod_);
  RunOnHost({"tc", "qdisc", "add", "dev", "tap450e5c61-1", "root", "tbf", "rate", "1mbit", "burst",
             "32kbit", "latency", "400ms"});

  ovs_->StopVswitchd();
  ovs_->StartVswitchd();
  Vsctl({"set", "Interface", "tap450e5c61-1", "external_ids:changed=1"});
  ovs_->Vsctl({"set", "Open_vSwitch", ".", "external_ids:applied=1"});

  EXPECT_THAT(RunOnHost({"tc", "qdisc", "show", "dev", "tap450e5c61-1"}), HasSubstr("tbf"));
}

TEST_F(OvsDriverTest, ProfileThatWantsThePortCreatedGetsOne) {
  vif::VifOpenVSwitch vif = test::OvsVif(1);
  vif::PortProfileOpenVSwitch profile;
  profile.interface_id = *vif.id;
  profile.create_port = true;
  vif.port_profile = vif::PortProfile(profile);

  Connect(vif, PodAttachment(1), *pod_);

  EXPECT_EQ(Vsctl({"list-ports", "br-int"}), "tap450e5c61-1");
  EXPECT_EQ(Vsctl({"get", "Interface", "tap450e5c61-1", "external_ids:iface-id"}),
            "\"" + *vif.id + "\"");
}

TEST_F(OvsDriverTest, CheckNamesTheFirstDifference) {
  MakeBridge();
  const vif::VifOpenVSwitch vif = test::OvsVif(1);
  ConnectPod(1, *pod_);
  const auto check = [&] {
    return FirstOf(driver_->Check(
                       {driver_->Plan({"eth0", true, vif}), PodAttachment(1), *pod_, Soon()}))
        .value_or("");
  };
  EXPECT_EQ(check(), "");

  Vsctl({"set", "Interface", *vif.vif_name, "external_ids:iface-id=other"});
  EXPECT_THAT(check(), HasSubstr("external_ids:iface-id \"other\" instead of"));
  Vsctl({"set", "Interface", *vif.vif_name, "external_ids:iface-id=" + *vif.id});
  const std::vector<std::pair<std::vector<std::string>, std::string>> changes = {
      {{"ip", "link", "set", "eth0", "mtu", "1400"}, ""},
      {{"ip", "route", "del", "default"}, "route 0.0.0.0/0 via 10.1.0.254 through eth0 is missing"},
      {{"ip", "route", "add", "default", "via", "10.1.0.9"},
       "route 0.0.0.0/0 via 10.1.0.9 through eth0 instead of"},
      {{"ip", "address", "del", "10.1.0.1/24", "dev", "eth0"}, "10.1.0.1/24 is missing on eth0"},
      {{"ip", "link", "set", "eth0", "down"}, "eth0 is down"},
      {{"ip", "link", "set", "eth0", "address", "02:00:00:00:00:01"}, "eth0 has MAC 02:00"},
      {{"ip", "link", "del", "eth0"}, "tap450e5c61-1 is missing"}};
  for (const auto& [change, difference] : changes) {
    RunIn(*pod_, change);
    EXPECT_THAT(check(), HasSubstr(difference)) << change.back();
  }
}

TEST_F(OvsDriverTest, MtuIsTheNetworksOrTheBridgesButNeverAboveTheConfigs) {
  MakeBridge();
  const auto mtu = [&](std::optional<uint32_t> of_network, uint32_t limit) {
    BindingConfig config = Config();
    config.network_device_mtu = limit;
    const auto driver = NewOvsDriver({config, shared_});
    vif::VifOpenVSwitch vif = test::OvsVif(1);
    vif.network->mtu.reset();
    if (of_network) vif.network->mtu = *of_network;
    const Planned planned = driver->Plan({"eth0", true, vif});
    const auto interfaces = driver->Connect({planned, PodAttachment(1), *pod_, Soon()});
    driver->Disconnect(planned.plug, PodAttachment(1), Soon());
    EXPECT_EQ(interfaces[0].mtu, interfaces[1].mtu);
    return interfaces[1].mtu;
  };

  EXPECT_EQ(mtu(9000, 0), 9000U);
  EXPECT_EQ(mtu(9000, 1400), 1400U);
  EXPECT_EQ(mtu(1300, 1400), 1300U);
  // Without a request, the bridge's is the smallest of its ports'.
  ovs_->Vsctl({"set", "Interface", "br-int", "mtu_request=1420"});
  EXPECT_EQ(mtu(std::nullopt, 0), 1420U);
  EXPECT_EQ(mtu(0, 1400), 1400U);
  EXPECT_EQ(mtu(std::nullopt, 9000), 1420U);
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
  const Plug plug = driver_->Plan({"eth0", true, test::OvsVif(1)}).plug;
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
  driver_->Disconnect(driver_->Plan({"eth0", true, test::OvsVif(1)}).plug, attachment, Soon());
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
    RouteSocket().CreateVeth({.name = "tap450e5c61-1",
                              .peer_name = "eth9",
                              .peer_netns_fd = pod_->fd(),
                              .group = BirthGroup(PodAttachment(1))});
  };
  // First without a port: while ovs-vswitchd lets go of one, it sets a new link of that name up.
  make();
  DisconnectPod(1);
  ExpectNothingLeft();

  make();
  ConnectPod(1, *pod_);
  EXPECT_FALSE(RouteSocket::OpenIn(*pod_).FindLink("eth9").has_value());
  DisconnectPod(1);
}

TEST_F(OvsDriverTest, FindPlugsGivesWhatTheRecordSaid) {
  MakeBridge();
  vif::VifOpenVSwitch second = test::OvsVif(2);
  second.network->subnets.reset();
  const std::vector<Planned> planned = {driver_->Plan({"eth0", true, test::OvsVif(1)}),
                                        driver_->Plan({"eth1", false, second})};
  for (const Planned& one : planned) driver_->Connect({one, PodAttachment(1), *pod_, Soon()});
  Attachment known = PodAttachment(1);
  known.pod.clear();
  known.pod_uid.clear();

  Binding binding(Config());
  EXPECT_THAT(binding.FindPlugs(known, Soon()),
              ::testing::UnorderedElementsAre(planned[0].plug, planned[1].plug));
  known.ifname = "net1";
  EXPECT_THAT(binding.FindPlugs(known, Soon()), ::testing::IsEmpty());
}

TEST_F(OvsDriverTest, ManyPodsAtOnce) {
  constexpr int kPods = 8;
  std::vector<Netns> pods;
  pods.reserve(kPods);
  for (int n = 0; n < kPods; ++n) pods.push_back(MakePodNetns());
  const auto on_all = [&](auto action) {
    std::vector<std::jthread> threads;
    threads.reserve(kPods);
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
