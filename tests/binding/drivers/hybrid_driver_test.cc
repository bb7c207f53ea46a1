#include "binding/drivers/drivers.h"

#include <fstream>
#include <functional>
#include <system_error>

#include "base/error.h"
#include "binding/drivers/binding.h"
#include "binding/links/link_mark.h"
#include "tests/binding/driver_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {
namespace {

using test::HybridVif;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kTap = "tap450e5c61-1";
constexpr const char* kHub = "qbr450e5c61-1";
constexpr const char* kBridgeEnd = "qvb450e5c61-1";
constexpr const char* kPort = "qvo450e5c61-1";

class HybridDriverTest : public DriverTest<NewHybridDriver> {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ovs_.emplace("/run");
    Configure(
        {.ovsdb_connection = ovs_->remote(), .datapath_type = test::PrivateOvs::datapath_type()});
  }
  void TearDown() override {
    ovs_.reset();
    DriverTest::TearDown();
  }
  std::string Vsctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--no-wait");
    return ovs_->Vsctl(arguments);
  }
  std::string State(const Pod& pod) {
    return StateWith(pod) + Vsctl({"--columns=_uuid,name,ports", "list", "Bridge"}) +
           Vsctl({"--columns=_uuid,name,external_ids", "list", "Interface"}) +
           Vsctl({"--columns=_uuid", "list", "QoS"});
  }
  static std::string MasterOf(const std::string& name) {
    RouteSocket host;
    const auto link = host.FindLink(name);
    const auto master = link ? host.FindLink(link->master) : std::nullopt;
    return master ? master->name : "";
  }
  static std::string Read(const std::string& path) {
    std::string text;
    std::ifstream(path) >> text;
    return text;
  }
  void ExpectRefused(const vif::VifBridge& vif, const std::string& reason) {
    const Pod pod = MakePod(1);
    const std::string before = State(pod);
    try {
      Connect(vif, pod);
      ADD_FAILURE() << "accepted";
    } catch (const HostInterfaceInUse& e) {
      EXPECT_THAT(e.what(), HasSubstr(reason));
    }
    EXPECT_EQ(State(pod), before);
    Disconnect(vif, pod);
    EXPECT_EQ(State(pod), before) << "after the DEL that follows";
  }

  std::optional<test::PrivateOvs> ovs_;
};

TEST_F(HybridDriverTest, TwoPodsReachEachOtherAtFullMtu) {
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);

  Connect(HybridVif(1), one);
  Connect(HybridVif(2), two);

  RunIn(one.netns, {"ping", "-c1", "-W5", "-Mdo", "-s1422", "10.1.0.2"});
  RunIn(one.netns, {"ping", "-c1", "-W5", "-Mdo", "-s1402", "fd00::2"});
}

TEST_F(HybridDriverTest, LinksAreWiredAsOsVifWiresThem) {
  const Pod pod = MakePod(1);

  const auto interfaces = Connect(HybridVif(1), pod);

  EXPECT_EQ(MasterOf(kTap), kHub);
  EXPECT_EQ(MasterOf(kBridgeEnd), kHub);
  RouteSocket host;
  EXPECT_EQ(host.FindLink(host.FindLink(kBridgeEnd)->lower)->name, kPort);
  EXPECT_EQ(Vsctl({"port-to-br", kPort}), "br-int");
  EXPECT_EQ(Vsctl({"get", "Interface", kPort, "external_ids:iface-id"}),
            "\"" + *HybridVif(1).id + "\"");
  const nlohmann::json bridge =
      ParseJson(RunOnHost({"ip", "-d", "-j", "link", "show", kHub})).at(0).at("linkinfo");
  for (const char* setting : {"ageing_time", "forward_delay", "stp_state", "mcast_snooping"})
    EXPECT_EQ(bridge.at("info_data").at(setting), 0) << setting;
  const std::string conf = std::string("/conf/") + kHub + "/";
  EXPECT_EQ(Read("/proc/sys/net/ipv6" + conf + "disable_ipv6"), "1");
  EXPECT_EQ(Read("/proc/sys/net/ipv4" + conf + "arp_ignore"), "1");
  EXPECT_EQ(Read("/proc/sys/net/ipv4" + conf + "arp_announce"), "2");
  ASSERT_EQ(interfaces.size(), 2U);
  EXPECT_EQ(interfaces[0].name, kTap);
  EXPECT_EQ(interfaces[1],
            (Interface{.name = "eth0", .mac = *HybridVif(1).address, .mtu = 1450, .in_pod = true}));
}

TEST_F(HybridDriverTest, DisconnectRemovesAllAndMayBeRepeated) {
  const Pod other = MakePod(2);
  Connect(HybridVif(2), other);
  const Pod pod = MakePod(1);
  const std::string before = State(pod);
  Connect(HybridVif(1), pod);

  for (int i = 0; i < 2; ++i) {
    Disconnect(HybridVif(1), pod);
    EXPECT_EQ(State(pod), before);
  }
}

TEST_F(HybridDriverTest, DisconnectRemovesTheLinksEvenWithOvsDown) {
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  Connect(HybridVif(1), pod);
  ovs_->StopVswitchd();
  ovs_->StopServer();

  EXPECT_THROW(Disconnect(HybridVif(1), pod), std::system_error);

  EXPECT_FALSE(RouteSocket().FindLink(kHub));
  EXPECT_FALSE(RouteSocket().FindLink(kTap));
  EXPECT_FALSE(RouteSocket().FindLink(kPort));
}

TEST_F(HybridDriverTest, OlderSandboxOfTheSamePodIsReplaced) {
  Pod older = MakePod(1);
  older.attachment.container_id = "older";
  const Pod pod = MakePod(1);
  const Pod other = MakePod(2);
  Connect(HybridVif(2), other);
  Connect(HybridVif(1), older);

  Connect(HybridVif(1), pod);

  Ping(pod, "10.1.0.2");
  const std::string before = State(pod);
  Disconnect(HybridVif(1), older);
  EXPECT_EQ(State(pod), before) << "the late DEL of the older sandbox";
}

TEST_F(HybridDriverTest, UnfinishedLinksAreReplacedOrRemoved) {
  const Pod pod = MakePod(1);
  const auto make = [&] {
    RouteSocket host;
    host.CreateHub(kHub, BirthGroup(pod.attachment));
    host.CreateVeth({.name = kBridgeEnd, .peer_name = kPort, .group = BirthGroup(pod.attachment)});
  };
  const auto remove = [&] {
    Disconnect(HybridVif(1), pod);
    EXPECT_FALSE(RouteSocket().FindLink(kHub));
    EXPECT_FALSE(RouteSocket().FindLink(kPort));
  };
  // First without a port: while ovs-vswitchd lets go of one, it sets a new link of that name up.
  make();
  remove();

  make();
  Connect(HybridVif(1), pod);
  remove();
}

TEST_F(HybridDriverTest, LinksOfOthersAreLeftAlone) {
  RunOnHost({"ip", "link", "add", kHub, "up", "type", "bridge"});
  ExpectRefused(HybridVif(1), "was not made by kuryr-cni");
  RouteSocket().DeleteLink(kHub);

  const Pod other = MakePod(2);
  Connect(HybridVif(2), other);
  vif::VifBridge vif = HybridVif(1);
  vif.bridge_name = HybridVif(2).bridge_name;
  ExpectRefused(vif, "belongs to another pod");
}

TEST_F(HybridDriverTest, BridgeThatIsDownIsNoLeftoverUnderANameOfTheVeths) {
  vif::VifBridge vif = HybridVif(1);
  vif.vif_name = std::string("br-storage");
  for (const char* name : {"br-storage", kBridgeEnd, kPort}) {
    RunOnHost({"ip", "link", "add", name, "type", "bridge"});
    ExpectRefused(vif, std::string(name) + " was not made by kuryr-cni");
    RouteSocket().DeleteLink(name);
  }
}

TEST_F(HybridDriverTest, LinksThatAreDownAndNotThePodsAreLeftAlone) {
  const std::string another = std::to_string(BirthGroup(PodAttachment(2)));
  for (const std::string& group : {std::string("default"), another}) {
    RunOnHost({"ip", "link", "add", kHub, "group", group, "type", "bridge"});
    ExpectRefused(HybridVif(1), std::string(kHub) + " was not made by kuryr-cni for this pod");
    RouteSocket().DeleteLink(kHub);
    RunOnHost({"ip", "link", "add", kBridgeEnd, "group", group, "type", "veth", "peer", kPort});
    ExpectRefused(HybridVif(1), std::string(kBridgeEnd) + " was not made by kuryr-cni");
    RouteSocket().DeleteLink(kBridgeEnd);
  }
}

TEST_F(HybridDriverTest, OtherBridgesAreNoHybridPlugs) {
  for (const char* name :
       {"br-int", "docker0", "qbr", "qbr-lan", "qbr450e5c61", "qbr0a1b2c3d-4e"}) {
    vif::VifBridge vif = HybridVif(1);
    vif.bridge_name = std::string(name);
    EXPECT_THROW((void)driver_->Plan({"eth0", true, vif}), ParseError) << name;
  }
  vif::VifBridge vif = HybridVif(1);
  vif.id = std::string("of-an-operator");
  vif.bridge_name = std::string("qbrof-an-op-lan");
  EXPECT_THROW((void)driver_->Plan({"eth0", true, vif}), ParseError) << "not of a UUID";
}

TEST_F(HybridDriverTest, FailingLayer3LeavesNothing) {
  const Pod pod = MakePod(1);
  vif::VifBridge vif = HybridVif(1);
  (*vif.network->subnets->objects)[1].gateway = *IpAddress::Parse("fd00::1");

  EXPECT_THROW(Connect(vif, pod), std::system_error);

  for (const char* name : {kTap, kHub, kPort}) EXPECT_FALSE(RouteSocket().FindLink(name)) << name;
  EXPECT_EQ(Vsctl({"list-br"}), "") << "the bridge was made by this Connect";
  EXPECT_EQ(Vsctl({"list", "QoS"}), "");
}

TEST_F(HybridDriverTest, FindPlugsGivesWhatTheRecordSaid) {
  const Pod pod = MakePod(1);
  Connect(HybridVif(1), pod);

  Binding binding({.ovsdb_connection = ovs_->remote()});
  EXPECT_THAT(binding.FindPlugs(pod.attachment, Soon()),
              ElementsAre(driver_->Plan({"eth0", true, HybridVif(1)}).plug));
  EXPECT_THAT(binding.FindPlugs(PodAttachment(2), Soon()), IsEmpty());
}

TEST_F(HybridDriverTest, CheckNamesTheFirstDifference) {
  const Pod pod = MakePod(1);
  const vif::VifBridge vif = HybridVif(1);
  Connect(vif, pod);
  ExpectDifferences(vif, pod);

  RunOnHost({"ip", "link", "set", kTap, "nomaster"});
  EXPECT_THAT(Check(vif, pod), HasSubstr("tap450e5c61-1 is on no bridge"));
  RunOnHost({"ip", "link", "set", kTap, "master", kHub});
  Vsctl({"del-port", kPort});
  EXPECT_THAT(Check(vif, pod), HasSubstr("port qvo450e5c61-1 is missing"));
}

}  // namespace
}  // namespace kuryr::binding
