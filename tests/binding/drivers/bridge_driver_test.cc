#include "binding/drivers/drivers.h"

#include <functional>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "binding/links/interfaces.h"
#include "binding/links/link_mark.h"
#include "tests/binding/driver_fixture.h"

namespace kuryr::binding {
namespace {

using test::BridgeVif;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kTap = "tap450e5c61-1";

/// The node's bridge is "br-lan".
class BridgeDriverTest : public DriverTest<NewBridgeDriver> {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    RunOnHost({"ip", "link", "add", "br-lan", "up", "type", "bridge"});
  }
  static void DeleteBridge() { RouteSocket().DeleteLink("br-lan"); }
  static vif::VifBridge BridgeVifThatProvides(int n) {
    vif::VifBridge vif = BridgeVif(n);
    vif.network->should_provide_bridge = true;
    return vif;
  }
  /// They give others time while Connect is at its last step.
  static void AddManyAddresses(vif::VifBridge& vif) {
    auto& ips = *(*vif.network->subnets->objects)[0].ips->objects;
    for (int i = 0; i < 4000; ++i) {
      const std::string address =
          "10.2." + std::to_string(i / 200) + "." + std::to_string(i % 200 + 1);
      ips.push_back({.address = IpAddress::Parse(address).value()});
    }
  }
  template <typename Error>
  void ExpectRefused(const vif::VifBridge& vif, const std::string& reason) {
    const Pod pod = MakePod(1);
    const std::string before = StateWith(pod);
    try {
      Connect(vif, pod);
      ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr(reason));
    }
    EXPECT_EQ(StateWith(pod), before);
    Disconnect(vif, pod);
    EXPECT_EQ(StateWith(pod), before) << "after the DEL that follows";
  }
};

TEST_F(BridgeDriverTest, TwoPodsReachEachOther) {
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);

  Connect(BridgeVif(1), one);
  Connect(BridgeVif(2), two);

  for (const char* address : {"10.1.0.2", "fd00::2"}) PingInFullSize(one, address, 1450);
  EXPECT_THAT(RunIn(one.netns, {"ip", "route"}), HasSubstr("default via 10.1.0.254"));
}

TEST_F(BridgeDriverTest, ResultAndKernelSayTheSame) {
  const Pod pod = MakePod(1);

  const auto interfaces = Connect(BridgeVif(1), pod);

  ASSERT_EQ(interfaces.size(), 2U);
  const auto host_end = RouteSocket().FindLink(kTap);
  ASSERT_TRUE(host_end);
  EXPECT_EQ(interfaces[0], (Interface{.name = kTap, .mac = host_end->mac, .mtu = 1450}));
  EXPECT_EQ(interfaces[1], (Interface{.name = "eth0",
                                      .mac = *MacAddress::Parse("fa:16:3e:80:d4:01"),
                                      .mtu = 1450,
                                      .in_pod = true}));
  EXPECT_EQ(host_end->master, RouteSocket().FindLink("br-lan")->index);
  for (const auto& end : {host_end, LinkIn(pod)})
    EXPECT_EQ(end->alias, "kuryr-cni kuryr container-1 eth0 uid-1 default/pod-1");
}

TEST_F(BridgeDriverTest, CheckNamesTheFirstDifference) {
  const Pod pod = MakePod(1);
  Connect(BridgeVif(1), pod);

  ExpectDifferences(BridgeVif(1), pod);
  RunOnHost({"ip", "link", "set", kTap, "nomaster"});
  EXPECT_THAT(Check(BridgeVif(1), pod), HasSubstr("tap450e5c61-1 is on no bridge"));
  DeleteBridge();
  EXPECT_THAT(Check(BridgeVif(1), pod), HasSubstr("bridge br-lan is missing"));
}

TEST_F(BridgeDriverTest, DisconnectRemovesAllAndMayBeRepeated) {
  const Pod pod = MakePod(1);
  Connect(BridgeVif(1), pod);

  for (int i = 0; i < 2; ++i) {
    Disconnect(BridgeVif(1), pod);
    EXPECT_FALSE(RouteSocket().FindLink(kTap));
    EXPECT_FALSE(LinkIn(pod));
    EXPECT_TRUE(RouteSocket().FindLink("br-lan"));
  }
}

TEST_F(BridgeDriverTest, DisconnectNeedsNeitherBridgeNorVeth) {
  const Pod pod = MakePod(1);
  Connect(BridgeVif(1), pod);
  DeleteBridge();
  Disconnect(BridgeVif(1), pod);
  EXPECT_FALSE(RouteSocket().FindLink(kTap));

  const std::string before = StateWith(pod);
  Disconnect(BridgeVif(1), pod);
  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(BridgeDriverTest, DisconnectOfAnotherAttachmentTouchesNothing) {
  const Pod pod = MakePod(1);
  Connect(BridgeVif(1), pod);
  const std::string before = StateWith(pod);

  for (std::string Attachment::* member :
       {&Attachment::network, &Attachment::container_id, &Attachment::ifname}) {
    Attachment other = pod.attachment;
    other.*member = "other";
    Disconnect(BridgeVif(1), other);
  }

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(BridgeDriverTest, SecondConnectIsRefused) {
  const Pod pod = MakePod(1);
  Connect(BridgeVif(1), pod);
  const std::string before = StateWith(pod);

  EXPECT_THROW(Connect(BridgeVif(1), pod), InterfaceExists);

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(BridgeDriverTest, OlderSandboxOfTheSamePodIsReplaced) {
  Pod older = MakePod(1);
  older.attachment.container_id = "older";
  const Pod pod = MakePod(1);
  const Pod other = MakePod(2);
  Connect(BridgeVif(2), other);
  Connect(BridgeVif(1), older);

  Connect(BridgeVif(1), pod);

  EXPECT_FALSE(LinkIn(older));
  Ping(pod, "10.1.0.2");
  const std::string before = StateWith(pod);
  Disconnect(BridgeVif(1), older);
  EXPECT_EQ(StateWith(pod), before) << "the late DEL of the older sandbox";
}

TEST_F(BridgeDriverTest, UnfinishedVethIsReplacedOrRemoved) {
  const Pod pod = MakePod(1);
  const auto make = [&] {
    RouteSocket().CreateVeth({.name = kTap,
                              .peer_name = "eth9",
                              .peer_netns_fd = pod.netns.fd(),
                              .master = RouteSocket().FindLink("br-lan")->index,
                              .group = BirthGroup(pod.attachment)});
  };
  make();
  Connect(BridgeVif(1), pod);
  EXPECT_FALSE(LinkIn(pod, "eth9"));
  Disconnect(BridgeVif(1), pod);

  make();
  Disconnect(BridgeVif(1), pod);

  EXPECT_FALSE(RouteSocket().FindLink(kTap));
}

TEST_F(BridgeDriverTest, VethThatIsDownAndNotThePodsIsLeftAlone) {
  const std::string another = std::to_string(BirthGroup(PodAttachment(2)));
  for (const std::string& group : {std::string("default"), another}) {
    RunOnHost({"ip", "link", "add", "backup0", "group", group, "type", "veth", "peer", "backup1"});
    vif::VifBridge vif = BridgeVif(1);
    vif.vif_name = std::string("backup0");
    ExpectRefused<HostInterfaceInUse>(vif, "\"ip link delete backup0\" frees the name");
    RouteSocket().DeleteLink("backup0");
  }
}

TEST_F(BridgeDriverTest, InterfaceOfAnotherPodIsLeftAlone) {
  const Pod other = MakePod(2);
  Connect(BridgeVif(2), other);
  vif::VifBridge vif = BridgeVif(1);
  vif.vif_name = BridgeVif(2).vif_name;

  ExpectRefused<HostInterfaceInUse>(vif, "belongs to another pod");
}

TEST_F(BridgeDriverTest, InterfaceOfTheNodeIsLeftAlone) {
  RunOnHost({"ip", "link", "add", "uplink", "up", "type", "veth", "peer", "name", "wire"});
  for (const char* name : {"uplink", "br-lan", "lo"}) {
    vif::VifBridge vif = BridgeVif(1);
    vif.vif_name = std::string(name);
    ExpectRefused<HostInterfaceInUse>(vif, "was not made by kuryr-cni");
  }
}

TEST_F(BridgeDriverTest, NodesLinkIsNoBridge) {
  RunOnHost({"ip", "link", "add", "uplink", "up", "type", "veth", "peer", "name", "wire"});
  vif::VifBridge vif = BridgeVifThatProvides(1);
  vif.bridge_name = std::string("uplink");

  ExpectRefused<std::system_error>(vif, "use uplink as bridge: its kind is \"veth\"");
}

TEST_F(BridgeDriverTest, BridgeOfASinglePortIsNotJoined) {
  vif::VifBridge vif = BridgeVif(1);
  for (const char* name : {"qbr0a1b2c3d-4e", "qbr450e5c61-1"}) {
    vif.bridge_name = std::string(name);
    EXPECT_THROW((void)driver_->Plan({"eth0", true, vif}), UnsupportedVif) << name;
  }
  for (const char* name : {"qbr0a1b2c3d", "qbridge-0", "brq0a1b2c3d-4e"}) {
    vif.bridge_name = std::string(name);
    EXPECT_EQ(driver_->Plan({"eth0", true, vif}).plug.bridge, name);
  }

  RunOnHost({"ip", "link", "set", "br-lan", "alias", LinkMark{PodAttachment(2)}.ToString()});
  ExpectRefused<HostInterfaceInUse>(BridgeVif(1), "bridge br-lan is a single port's own");
}

TEST_F(BridgeDriverTest, MissingBridgeIsNamedUnlessItIsToBeProvided) {
  DeleteBridge();
  ExpectRefused<std::system_error>(BridgeVif(1), "find bridge br-lan");
  vif::VifBridge vif = BridgeVifThatProvides(1);
  vif.network->multi_host = true;
  ExpectRefused<std::system_error>(vif, "find bridge br-lan");
  vif.network->multi_host = false;
  vif.network->bridge_interface = std::string("eth0");
  ExpectRefused<UnsupportedVif>(vif, "$.network.bridge_interface");
}

TEST_F(BridgeDriverTest, BridgeThatTheOperatorHasNotNamedIsNotMade) {
  DeleteBridge();
  Configure({.bridges = {"br-*"}});

  ExpectRefused<UnsupportedVif>(BridgeVifThatProvides(1), "a pattern in [binding] bridges");
}

TEST_F(BridgeDriverTest, WithoutAnMtuItIsTheBridges) {
  RunOnHost({"ip", "link", "set", "br-lan", "mtu", "1420"});
  const Pod pod = MakePod(1);
  vif::VifBridge vif = BridgeVif(1);
  vif.network->mtu.reset();

  EXPECT_EQ(Connect(vif, pod).at(1).mtu, 1420U);
  RunOnHost({"ip", "link", "set", "br-lan", "mtu", "1400"});
  EXPECT_EQ(Check(vif, pod), "") << "nobody said what it should be";
}

TEST_F(BridgeDriverTest, BridgeIsProvidedOnceAndStays) {
  DeleteBridge();
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);

  Connect(BridgeVifThatProvides(1), one);
  Connect(BridgeVifThatProvides(2), two);

  Ping(one, "10.1.0.2");
  Disconnect(BridgeVif(1), one);
  Disconnect(BridgeVif(2), two);
  EXPECT_TRUE(RouteSocket().FindLink("br-lan"));
}

TEST_F(BridgeDriverTest, ProvidedBridgeAndHostEndHaveNoAddressOfTheNode) {
  DeleteBridge();
  const Pod pod = MakePod(1);

  Connect(BridgeVifThatProvides(1), pod);

  RouteSocket host;
  for (const char* name : {"br-lan", kTap})
    EXPECT_THAT(host.AddressesOf(host.FindLink(name).value()), IsEmpty()) << name;
  EXPECT_TRUE(host.FindLink("br-lan")->up);
  // For an address of another link nobody answers on it.
  RunOnHost({"ip", "address", "add", "10.1.0.77/32", "dev", "lo"});
  EXPECT_FALSE(Answers(pod, "10.1.0.77"));
  EXPECT_THAT(RunIn(pod.netns, {"ip", "neighbour", "show", "10.1.0.77"}), Not(HasSubstr("lladdr")))
      << "the node has told its MAC";
}

TEST_F(BridgeDriverTest, BridgeWhoseMakerWasKilledIsFinished) {
  DeleteBridge();
  RouteSocket().CreateBridgeDown("br-lan", {}, kSharedBirthGroup);
  const Pod pod = MakePod(1);

  Connect(BridgeVifThatProvides(1), pod);

  RouteSocket host;
  const Link bridge = host.FindLink("br-lan").value();
  EXPECT_TRUE(bridge.up);
  EXPECT_THAT(host.AddressesOf(bridge), IsEmpty());
}

TEST_F(BridgeDriverTest, EmptyBridgeOfTheOperatorThatIsDownIsLeftAlone) {
  RunOnHost({"ip", "link", "set", "br-lan", "down"});

  ExpectRefused<std::system_error>(BridgeVifThatProvides(1), "\"ip link set br-lan up\" allows it");
}

TEST_F(BridgeDriverTest, BridgeOfTheOperatorThatIsDownStaysDown) {
  RunOnHost({"ip", "link", "set", "br-lan", "down"});
  RunOnHost({"ip", "address", "add", "10.1.0.254/24", "dev", "br-lan"});
  const Pod pod = MakePod(1);

  Connect(BridgeVifThatProvides(1), pod);

  EXPECT_FALSE(RouteSocket().FindLink("br-lan")->up);
}

TEST_F(BridgeDriverTest, FailingLayer3LeavesNothing) {
  const Pod pod = MakePod(1);
  vif::VifBridge vif = BridgeVifThatProvides(1);
  (*vif.network->subnets->objects)[1].gateway = *IpAddress::Parse("fd00::1");

  EXPECT_THROW(Connect(vif, pod), std::system_error);
  EXPECT_FALSE(RouteSocket().FindLink(kTap));
  EXPECT_FALSE(LinkIn(pod));
  EXPECT_TRUE(RouteSocket().FindLink("br-lan")) << "was there before";

  DeleteBridge();
  const std::string before = StateWith(pod);
  EXPECT_THROW(Connect(vif, pod), std::system_error);
  EXPECT_EQ(StateWith(pod), before) << "the bridge was made by this Connect";
}

TEST_F(BridgeDriverTest, BridgeThatHasAnotherPortByNowStays) {
  DeleteBridge();
  const Pod pod = MakePod(1);
  vif::VifBridge vif = BridgeVifThatProvides(1);
  AddManyAddresses(vif);
  (*vif.network->subnets->objects)[1].gateway = *IpAddress::Parse("fd00::1");
  std::jthread other([host = Netns::Current()] {
    RouteSocket socket = RouteSocket::OpenIn(host);
    std::optional<Link> bridge;
    while (!(bridge = socket.FindLink("br-lan"))) std::this_thread::yield();
    socket.CreateVeth({.name = "tap9", .peer_name = "eth9", .master = bridge->index});
  });

  EXPECT_THROW(Connect(vif, pod), std::system_error);

  other.join();
  EXPECT_FALSE(RouteSocket().FindLink(kTap));
  ASSERT_TRUE(RouteSocket().FindLink("br-lan"));
  EXPECT_EQ(RouteSocket().FindLink("tap9")->master, RouteSocket().FindLink("br-lan")->index);
}

TEST_F(BridgeDriverTest, BridgeThatVanishesMeanwhileIsAnErrorAndLeavesNothing) {
  const Pod pod = MakePod(1);
  vif::VifBridge vif = BridgeVif(1);
  AddManyAddresses(vif);
  std::jthread other([host = Netns::Current()] {
    RouteSocket socket = RouteSocket::OpenIn(host);
    while (!socket.FindLink(kTap)) std::this_thread::yield();
    socket.DeleteLink("br-lan");
  });

  EXPECT_THROW(Connect(vif, pod), std::system_error);

  EXPECT_FALSE(RouteSocket().FindLink(kTap));
  EXPECT_FALSE(LinkIn(pod));
}

TEST_F(BridgeDriverTest, AbsurdMtuLeavesNothing) {
  DeleteBridge();
  vif::VifBridge vif = BridgeVifThatProvides(1);
  // The kernel has to refuse it: for IPv6 the plan would.
  vif.network->subnets->objects->pop_back();
  for (const uint32_t mtu : {1U, 1000000U}) {
    vif.network->mtu = mtu;
    ExpectRefused<std::system_error>(vif, kTap);
  }
}

TEST_F(BridgeDriverTest, TakenInterfaceNameInThePodIsLeftAlone) {
  const Pod pod = MakePod(1);
  RunIn(pod.netns, {"ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1"});
  const std::string before = StateWith(pod);

  EXPECT_THROW(Connect(BridgeVif(1), pod), InterfaceExists);

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(BridgeDriverTest, FindPlugsGivesWhatTheRecordSaid) {
  Pod pod = MakePod(1);
  vif::VifBridge second = BridgeVif(2);
  second.network->subnets.reset();
  const std::vector<Plug> plugs = {driver_->Plan({"eth0", true, BridgeVif(1)}).plug,
                                   driver_->Plan({"eth1", false, second}).plug};
  Connect(BridgeVif(1), pod);
  Connect(second, pod, "eth1");
  pod.attachment.pod_uid.clear();
  pod.attachment.netns_id = {};

  EXPECT_THAT(driver_->FindPlugs(pod.attachment, Soon()),
              ::testing::UnorderedElementsAreArray(plugs));
  pod.attachment.container_id = "other";
  EXPECT_THAT(driver_->FindPlugs(pod.attachment, Soon()), IsEmpty());
}

TEST_F(BridgeDriverTest, VethOfTheNodeThatThePodCallsItsPeerIsLeftAlone) {
  const Pod pod = MakePod(1);
  RunOnHost({"ip", "link", "add", "admin0", "type", "veth", "peer", "name", "admin1"});
  RouteSocket host;
  const std::string index = std::to_string(host.FindLink("admin0")->index);
  RunIn(pod.netns, {"ip", "link", "add", "name", "eth0", "index", "4711", "type", "veth", "peer",
                    "name", "mine", "index", index});
  RunIn(pod.netns, {"ip", "link", "set", "eth0", "alias",
                    LinkMark{.attachment = pod.attachment, .note = {}}.ToString()});
  ASSERT_EQ(FindMarkedLinksIn(pod.netns, pod.attachment).size(), 1U);
  const std::string before = StateWith(pod);

  for (const Plug& plug : driver_->FindPlugs(pod.attachment, Soon())) {
    ADD_FAILURE() << "found " << plug.host_interface;
    driver_->Disconnect(plug, pod.attachment, Soon());
  }

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(BridgeDriverTest, ManyPodsAtOnceOnABridgeThatIsMissing) {
  DeleteBridge();
  constexpr int kPods = 8;
  std::vector<Pod> pods;
  for (int n = 0; n < kPods; ++n) pods.push_back(MakePod(n));
  const auto on_all = [&](auto action) {
    std::vector<std::jthread> threads;
    for (int n = 0; n < kPods; ++n)
      threads.emplace_back([&, n] { action(n, pods[static_cast<size_t>(n)]); });
  };

  on_all([&](int n, const Pod& pod) { EXPECT_NO_THROW(Connect(BridgeVifThatProvides(n), pod)); });
  Ping(pods[1], "10.1.0.2");
  on_all([&](int n, const Pod& pod) { EXPECT_NO_THROW(Disconnect(BridgeVif(n), pod)); });

  EXPECT_EQ(RunOnHost({"ip", "-brief", "link", "show", "master", "br-lan"}), "");
}

}  // namespace
}  // namespace kuryr::binding
