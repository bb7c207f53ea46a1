#include "binding/drivers/drivers.h"

#include <sys/mount.h>

#include <cstdio>

#include "binding/links/link_mark.h"
#include "tests/binding/drivers/nested_driver_fixture.h"

namespace kuryr::binding {
namespace {

using test::MacvlanVif;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(NestedDriverTest, TwoPodsAndTheFabricReachEachOther) {
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);

  Connect(MacvlanVif(1), one);
  Connect(MacvlanVif(2), two);

  for (const char* address : {"10.1.0.2", "fd00::2", "10.1.0.254", "fd00::ff"})
    PingInFullSize(one, address, 1450);
  EXPECT_THAT(RunIn(one.netns, {"ip", "route"}), HasSubstr("default via 10.1.0.254"));
}

TEST_F(NestedDriverTest, ResultAndKernelSayTheSame) {
  const Pod pod = MakePod(1);

  const auto interfaces = Connect(MacvlanVif(1), pod);

  EXPECT_THAT(interfaces, ElementsAre(Interface{.name = "eth0",
                                                .mac = *MacAddress::Parse("fa:16:3e:80:d4:01"),
                                                .mtu = 1450,
                                                .in_pod = true}));
  const auto link = LinkIn(pod);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->kind, "macvlan");
  EXPECT_EQ(link->alias, "kuryr-cni kuryr container-1 eth0 uid-1 default/pod-1");
  EXPECT_EQ(link->lower, RouteSocket().FindLink("uplink")->index);
  EXPECT_THAT(RunIn(pod.netns, {"ip", "-d", "link", "show", "eth0"}), HasSubstr("mode bridge"));
}

TEST_F(NestedDriverTest, CheckNamesTheFirstDifference) {
  const Pod pod = MakePod(1);
  Connect(MacvlanVif(1), pod);

  ExpectDifferences(MacvlanVif(1), pod);
  RunIn(pod.netns, {"ip", "link", "set", "eth0", "alias", "other"});
  EXPECT_THAT(Check(MacvlanVif(1), pod), HasSubstr("eth0 is not this attachment's"));
  RunIn(pod.netns, {"ip", "link", "del", "eth0"});
  EXPECT_THAT(Check(MacvlanVif(1), pod), HasSubstr("eth0 is missing"));
}

TEST_F(NestedDriverTest, HostMayHaveALinkOfThatName) {
  RunOnHost({"ip", "link", "set", "uplink", "down"});
  RunOnHost({"ip", "link", "set", "uplink", "up", "name", "eth0"});
  Configure({.link_iface = "eth0"});
  const Pod pod = MakePod(1);

  Connect(MacvlanVif(1), pod);

  Ping(pod, "10.1.0.254");
}

TEST_F(NestedDriverTest, MtuIsTheNetworksOrTheParentsButNeverAboveTheConfigs) {
  const Pod pod = MakePod(1);
  RunOnHost({"ip", "link", "set", "uplink", "mtu", "2000"});
  const auto mtu = [&](std::optional<uint32_t> of_network, uint32_t limit) {
    Configure({.network_device_mtu = limit, .link_iface = "uplink"});
    vif::VifMacvlanNested vif = MacvlanVif(1);
    vif.network->mtu.reset();
    if (of_network) vif.network->mtu = *of_network;
    const auto interfaces = Connect(vif, pod);
    Disconnect(vif, pod);
    return interfaces[0].mtu;
  };

  EXPECT_EQ(mtu(2000, 0), 2000U);
  EXPECT_EQ(mtu(1450, 0), 1450U);
  EXPECT_EQ(mtu(9000, 1400), 1400U);
  EXPECT_EQ(mtu(std::nullopt, 0), 2000U);
  EXPECT_EQ(mtu(0, 1400), 1400U);
  EXPECT_EQ(mtu(std::nullopt, 9000), 2000U);
}

TEST_F(NestedDriverTest, MtuAboveTheParentsIsRefusedWithBoth) {
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  vif::VifMacvlanNested vif = MacvlanVif(1);
  vif.network->mtu = 1501U;

  EXPECT_THAT(FailureOf([&] { Connect(vif, pod); }), AllOf(HasSubstr("1501"), HasSubstr("1500")));

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(NestedDriverTest, AbsurdMtuLeavesNothing) {
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  vif::VifMacvlanNested vif = MacvlanVif(1);
  // The kernel has to refuse it: for IPv6 the plan would.
  vif.network->subnets->objects->pop_back();
  vif.network->mtu = 1U;

  EXPECT_THROW(Connect(vif, pod), std::system_error);

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(NestedDriverTest, DisconnectRemovesAllAndMayBeRepeated) {
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  Connect(MacvlanVif(1), pod);

  for (int i = 0; i < 2; ++i) {
    Disconnect(MacvlanVif(1), pod);
    EXPECT_EQ(StateWith(pod), before);
  }
}

TEST_F(NestedDriverTest, DisconnectNeedsNoNamespace) {
  const Pod pod = MakePod(1);
  Connect(MacvlanVif(1), pod);
  ASSERT_EQ(::umount2(pod.attachment.netns.c_str(), MNT_DETACH), 0);

  EXPECT_NO_THROW(Disconnect(MacvlanVif(1), pod));
  ASSERT_EQ(std::remove(pod.attachment.netns.c_str()), 0);
  EXPECT_NO_THROW(Disconnect(MacvlanVif(1), pod));
  Pod unknown = MakePod(2);
  unknown.attachment.netns.clear();
  EXPECT_NO_THROW(Disconnect(MacvlanVif(2), unknown));
}

TEST_F(NestedDriverTest, DisconnectLeavesAnotherNamespaceAtThePathAlone) {
  const Pod pod = MakePod(1);
  Connect(MacvlanVif(1), pod);
  Attachment earlier = pod.attachment;
  earlier.netns_id.inode += 1;

  Disconnect(MacvlanVif(1), earlier);

  EXPECT_TRUE(LinkIn(pod));
}

TEST_F(NestedDriverTest, DisconnectOfAnotherAttachmentTouchesNothing) {
  const Pod pod = MakePod(1);
  Connect(MacvlanVif(1), pod);
  const std::string before = StateWith(pod);

  for (std::string Attachment::* member :
       {&Attachment::network, &Attachment::container_id, &Attachment::ifname}) {
    Attachment other = pod.attachment;
    other.*member = "other";
    Disconnect(MacvlanVif(1), other);
  }

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(NestedDriverTest, SecondConnectIsRefused) {
  const Pod pod = MakePod(1);
  Connect(MacvlanVif(1), pod);
  const std::string before = StateWith(pod);

  EXPECT_THROW(Connect(MacvlanVif(1), pod), InterfaceExists);

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(NestedDriverTest, InterfaceOfAnotherIsLeftAlone) {
  const Pod pod = MakePod(1);
  for (const char* kind : {"veth", "bridge"}) {
    RunIn(pod.netns, {"ip", "link", "add", "eth0", "type", kind});
    const std::string before = StateWith(pod);

    EXPECT_THROW(Connect(MacvlanVif(1), pod), InterfaceExists);
    EXPECT_EQ(StateWith(pod), before);
    Disconnect(MacvlanVif(1), pod);
    EXPECT_EQ(StateWith(pod), before) << "after the DEL that follows";
    RunIn(pod.netns, {"ip", "link", "del", "eth0"});
  }
}

TEST_F(NestedDriverTest, LinkOfAnotherKindWithOurMarkIsLeftAlone) {
  const Pod pod = MakePod(1);
  RunIn(pod.netns, {"ip", "link", "add", "eth0", "type", "bridge"});
  RunIn(pod.netns,
        {"ip", "link", "set", "eth0", "alias", "kuryr-cni kuryr container-1 eth0 uid-1 default/p"});
  const std::string before = StateWith(pod);

  Disconnect(MacvlanVif(1), pod);

  EXPECT_EQ(StateWith(pod), before);
}

/// Killed between the two requests that make the interface.
TEST_F(NestedDriverTest, UnfinishedInterfaceIsReplacedOrRemoved) {
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  const Plug plug = driver_->Plan({"eth0", true, MacvlanVif(1)}).plug;
  RouteSocket host;
  for (const std::string& name : {plug.ifname, TemporaryLinkName(plug, pod.attachment)}) {
    const StackedLink unfinished = {.name = name,
                                    .parent = *host.FindLink("uplink"),
                                    .netns_fd = pod.netns.fd(),
                                    .mac = *MacvlanVif(1).address,
                                    .group = BirthGroup(pod.attachment)};
    host.CreateMacvlan(unfinished);
    Connect(MacvlanVif(1), pod);
    Ping(pod, "10.1.0.254");
    Disconnect(MacvlanVif(1), pod);
    EXPECT_EQ(StateWith(pod), before) << name;

    host.CreateMacvlan(unfinished);
    Disconnect(MacvlanVif(1), pod);
    EXPECT_EQ(StateWith(pod), before) << name;
  }
}

TEST_F(NestedDriverTest, MacvlanOfAnotherIsLeftAlone) {
  const Pod pod = MakePod(1);
  RouteSocket host;
  host.CreateMacvlan(
      {.name = "eth0", .parent = *host.FindLink("uplink"), .netns_fd = pod.netns.fd()});
  const std::string before = StateWith(pod);

  EXPECT_THROW(Connect(MacvlanVif(1), pod), InterfaceExists);
  Disconnect(MacvlanVif(1), pod);

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(NestedDriverTest, OlderSandboxInTheSameNamespaceIsReplaced) {
  Pod pod = MakePod(1);
  const std::string current = pod.attachment.container_id;
  pod.attachment.container_id = "older";
  Connect(MacvlanVif(1), pod);
  pod.attachment.container_id = current;

  Connect(MacvlanVif(1), pod);

  Ping(pod, "10.1.0.254");
  EXPECT_THAT(LinkIn(pod)->alias, HasSubstr("container-1"));
}

TEST_F(NestedDriverTest, FailingLayer3LeavesNothing) {
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  vif::VifMacvlanNested vif = MacvlanVif(1);
  (*vif.network->subnets->objects)[1].gateway = *IpAddress::Parse("fd00::1");

  EXPECT_THAT(FailureOf([&] { Connect(vif, pod); }), HasSubstr("add route"));

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(NestedDriverTest, ParentThatIsDownIsRefused) {
  const Pod pod = MakePod(1);
  RunOnHost({"ip", "link", "set", "uplink", "down"});
  const std::string before = StateWith(pod);

  EXPECT_THAT(FailureOf([&] { Connect(MacvlanVif(1), pod); }), HasSubstr("uplink"));

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(NestedDriverTest, MacTakenOnTheParentLeavesTheOtherPodAlone) {
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);
  Connect(MacvlanVif(1), one);
  const std::string before = StateWith(two);

  EXPECT_THROW(Connect(MacvlanVif(1), two), std::system_error);

  EXPECT_EQ(StateWith(two), before);
  Ping(one, "10.1.0.254");
}

TEST_F(NestedDriverTest, FindPlugsGivesWhatTheRecordSaid) {
  Pod pod = MakePod(1);
  vif::VifMacvlanNested second = MacvlanVif(2);
  second.network->subnets.reset();
  Connect(MacvlanVif(1), pod);
  Connect(second, pod, "eth1");
  RunIn(pod.netns, {"ip", "link", "add", "eth2", "type", "bridge"});
  pod.attachment.pod_uid.clear();
  pod.attachment.netns_id = {};

  EXPECT_THAT(driver_->FindPlugs(pod.attachment, Soon()),
              ::testing::UnorderedElementsAre(Plug{.driver = "nested", .ifname = "eth0"},
                                              Plug{.driver = "nested", .ifname = "eth1"}));
  pod.attachment.container_id = "other";
  EXPECT_THAT(driver_->FindPlugs(pod.attachment, Soon()), IsEmpty());
  pod.attachment.netns.clear();
  EXPECT_THAT(driver_->FindPlugs(pod.attachment, Soon()), IsEmpty());
}

}  // namespace
}  // namespace kuryr::binding
