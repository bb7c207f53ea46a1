#include "binding/drivers/drivers.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "binding/devices/lent_vf.h"
#include "binding/links/owner.h"
#include "tests/binding/differences.h"
#include "tests/binding/drivers/sriov_driver_fixture.h"

namespace kuryr::binding {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(SriovDriverTest, TwoPodsReachEachOther) {
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);

  Connect(SriovVif(1), one);
  Connect(SriovVif(2), two);

  for (const char* address : {"10.1.0.2", "fd00::2"}) Ping(one, address);
  EXPECT_THAT(RunIn(one.netns, {"ip", "route"}), HasSubstr("default via 10.1.0.254"));
}

TEST_F(SriovDriverTest, ResultAndKernelSayTheSame) {
  const Pod pod = MakePod(1);

  const auto interfaces = Connect(SriovVif(1), pod);

  EXPECT_THAT(interfaces, ElementsAre(Interface{.name = "eth0",
                                                .mac = *MacAddress::Parse("fa:16:3e:80:d4:01"),
                                                .mtu = 1450,
                                                .in_pod = true}));
  EXPECT_FALSE(RouteSocket().FindLink(VfLink(1)));
  EXPECT_EQ(LinkIn(pod)->alias,
            "kuryr-cni kuryr container-1 eth0 uid-1 vf=0000:03:10.1 default/pod-1");
}

TEST_F(SriovDriverTest, DisconnectGivesTheVfBackAsItWasAndMayBeRepeated) {
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  Connect(SriovVif(1), pod);
  const Plug plug = {
      .driver = "sriov", .ifname = "eth0", .host_interface = VfLink(1), .device = VfAddress(1)};

  for (int i = 0; i < 2; ++i) {
    driver_->Disconnect(plug, pod.attachment, Soon());
    EXPECT_EQ(StateWith(pod), before);
    EXPECT_EQ(RouteSocket().FindLink(VfLink(1))->mtu, 1600U);
  }
  Connect(SriovVif(1), pod);
  EXPECT_TRUE(LinkIn(pod));
}

TEST_F(SriovDriverTest, VfIsFoundByItsAddressWhenTheNamespaceIsGone) {
  const std::string before = LinksOf(Netns::Current());
  for (const char* name : {"eth0", "dev3"}) {
    const Pod pod = MakePod(1);
    const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
    Connect(SriovVif(1), pod);
    EndNamespace(pod, name);

    driver_->Disconnect(plug, pod.attachment, Soon());

    EXPECT_EQ(LinksOf(Netns::Current()), before) << name;
    card_->sysfs.SetLinkOf(VfAddress(1), VfLink(1));
  }
}

TEST_F(SriovDriverTest, VfBackFromANamespaceThatEndedIsTakenAndStillKnowsWhatItWas) {
  const Pod gone = MakePod(1);
  const std::string before = LinksOf(Netns::Current());
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  Connect(SriovVif(1), gone);
  EndNamespace(gone, "dev3");
  vif::VifSriov vif = SriovVif(2);
  vif.dev_address = SriovVif(1).dev_address;
  const Pod pod = MakePod(2);

  Connect(vif, pod);
  const std::string with_pod = StateWith(pod);
  driver_->Disconnect(plug, gone.attachment, Soon());
  EXPECT_EQ(StateWith(pod), with_pod) << "the late DEL of the pod before";

  card_->sysfs.SetLinkOf(VfAddress(1), VfLink(1));
  driver_->Disconnect(plug, pod.attachment, Soon());
  EXPECT_EQ(LinksOf(Netns::Current()), before);
}

TEST_F(SriovDriverTest, RepeatedDisconnectFinishesOneThatWasKilled) {
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  Connect(SriovVif(1), pod);
  MoveToHost(pod, "vf-0000-03-10-1");

  driver_->Disconnect(plug, pod.attachment, Soon());

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(SriovDriverTest, NameTakenOnTheHostIsAnErrorButTheVfIsFree) {
  const Pod pod = MakePod(1);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  Connect(SriovVif(1), pod);
  RunOnHost({"ip", "link", "add", VfLink(1), "type", "bridge"});
  card_->sysfs.SetLinkOf(VfAddress(1), "vf-0000-03-10-1");

  EXPECT_THAT(FailureOf([&] { driver_->Disconnect(plug, pod.attachment, Soon()); }),
              HasSubstr("name ens1v1"));

  EXPECT_EQ(RouteSocket().FindLink("vf-0000-03-10-1")->alias, "");
  EXPECT_NO_THROW(driver_->Disconnect(plug, pod.attachment, Soon()));
}

TEST_F(SriovDriverTest, DisconnectOfAnotherAttachmentTouchesNothing) {
  const Pod pod = MakePod(1);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  Connect(SriovVif(1), pod);
  const std::string before = StateWith(pod);

  for (std::string Attachment::* member :
       {&Attachment::network, &Attachment::container_id, &Attachment::ifname}) {
    Attachment other = pod.attachment;
    other.*member = "other";
    driver_->Disconnect(plug, other, Soon());
  }

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(SriovDriverTest, VfInAnotherPodIsRefused) {
  const Pod other = MakePod(2);
  vif::VifSriov vif = SriovVif(2);
  vif.dev_address = SriovVif(1).dev_address;
  Connect(vif, other);

  ExpectRefused<HostInterfaceInUse>(SriovVif(1), "it is in another pod");
  card_->sysfs.SetLinkOf(VfAddress(1), "");
  ExpectRefused<HostInterfaceInUse>(SriovVif(1), "it is in another pod");
  EXPECT_TRUE(LinkIn(other));
}

TEST_F(SriovDriverTest, VfInUseOnTheHostIsRefused) {
  RunOnHost({"ip", "address", "add", "192.0.2.1/24", "dev", VfLink(1)});
  ExpectRefused<HostInterfaceInUse>(SriovVif(1), "ens1v1 has an address");
  RunOnHost({"ip", "address", "flush", "dev", VfLink(1)});
  RunOnHost({"ip", "link", "set", VfLink(1), "master", "wires"});
  ExpectRefused<HostInterfaceInUse>(SriovVif(1), "ens1v1 is a port of wires");
  RunOnHost({"ip", "link", "set", VfLink(1), "nomaster", "alias",
             "kuryr-cni kuryr container-9 eth0 uid-9 default/pod-9"});
  ExpectRefused<HostInterfaceInUse>(SriovVif(1), "belongs to another pod");
}

/// The macvlan has the addresses, or is a virtual machine's.
TEST_F(SriovDriverTest, VfThatCarriesAnotherInterfaceIsRefused) {
  ASSERT_EQ(::mkdir("/run/kernel", 0755), 0);
  ASSERT_EQ(::mount("sysfs", "/run/kernel", "sysfs", 0, nullptr), 0);
  const auto link = card_->sysfs.Device(VfAddress(1)) / "net" / VfLink(1);
  std::filesystem::remove(link);
  std::filesystem::create_symlink("/run/kernel/class/net/" + VfLink(1), link);
  RunOnHost({"ip", "link", "set", VfLink(1), "up"});
  int refused = 0;
  for (const std::vector<std::string>& kind : std::vector<std::vector<std::string>>{
           {"macvlan"}, {"macvtap"}, {"ipvlan"}, {"vlan", "id", "205"}}) {
    std::vector<std::string> add = {"ip",      "link", "add",      "link",
                                    VfLink(1), "name", "node-net", "type"};
    add.insert(add.end(), kind.begin(), kind.end());
    if (test::RunProgram({.argv = add}).status != 0) continue;  // this kernel has none
    RunOnHost({"ip", "link", "set", "node-net", "up"});

    ExpectRefused<HostInterfaceInUse>(SriovVif(1), "ens1v1 carries node-net");

    RunOnHost({"ip", "link", "del", "node-net"});
    ++refused;
  }
  EXPECT_GT(refused, 0) << "not even a macvlan";
  EXPECT_NO_THROW(Connect(SriovVif(1), MakePod(2)));
  EXPECT_EQ(::umount2("/run/kernel", MNT_DETACH), 0);
}

TEST_F(SriovDriverTest, VfThatIsUpWithoutAddressIsFree) {
  RunOnHost({"ip", "link", "set", VfLink(1), "up"});
  const Pod pod = MakePod(1);

  EXPECT_NO_THROW(Connect(SriovVif(1), pod));
}

TEST_F(SriovDriverTest, OnlyVirtualFunctionsAreTaken) {
  vif::VifSriov vif = SriovVif(1);
  for (const char* address : {kPfAddress, "0000:00:1f.2"}) {
    vif.dev_address = *vif::PciAddress::Parse(address);
    ExpectRefused<ParseError>(vif, std::string(address) + " is no virtual function");
  }
}

TEST_F(SriovDriverTest, VfWithADriverForUserspaceIsRefusedWithIt) {
  card_->sysfs.AddVf(kPfAddress, 4, "0000:03:10.4", "", "vfio-pci");
  vif::VifSriov vif = SriovVif(1);
  vif.dev_address = *vif::PciAddress::Parse("0000:03:10.4");

  ExpectRefused<HostInterfaceInUse>(vif, "driver vfio-pci");
}

TEST_F(SriovDriverTest, VlanNeedsAPfThatSetsIt) {
  vif::VifSriov vif = SriovVif(1);
  vif.vlan_name = std::string("205");
  ExpectRefused<std::system_error>(vif, "set VLAN 205");
  vif.vlan_name = std::string();
  vif.network->vlan = uint16_t{206};
  vif.network->should_provide_vlan = true;
  ExpectRefused<std::system_error>(vif, "set VLAN 206");
}

TEST_F(SriovDriverTest, MissingLinkOfThePfIsNamed) {
  RunOnHost({"ip", "link", "del", "ens1"});
  ExpectRefused<std::system_error>(SriovVif(1), "find interface ens1");
  std::filesystem::remove_all(card_->sysfs.Device(kPfAddress) / "net");
  ExpectRefused<std::system_error>(SriovVif(1), "physical function");
}

TEST_F(SriovDriverTest, FailuresAfterTheMoveGiveTheVfBack) {
  vif::VifSriov vif = SriovVif(1);
  vif.network->mtu = 1000000U;
  ExpectRefused<std::system_error>(vif, "eth0");
  vif = SriovVif(1);
  (*vif.network->subnets->objects)[1].gateway = *IpAddress::Parse("fd00::1");
  ExpectRefused<std::system_error>(vif, "add route");
}

TEST_F(SriovDriverTest, UndoNeedsNoPathToTheNamespace) {
  Pod pod = MakePod(1);
  pod.attachment.netns.clear();
  const std::string before = StateWith(pod);
  vif::VifSriov vif = SriovVif(1);
  (*vif.network->subnets->objects)[1].gateway = *IpAddress::Parse("fd00::1");

  EXPECT_THROW(Connect(vif, pod), std::system_error);

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(SriovDriverTest, TakenInterfaceNameInThePodIsLeftAlone) {
  for (const char* name : {"eth0", "vf-0000-03-10-1"}) {
    const Pod pod = MakePod(1);
    RunIn(pod.netns, {"ip", "link", "add", name, "type", "veth", "peer", "name", "eth1"});
    const std::string before = StateWith(pod);

    EXPECT_THROW(Connect(SriovVif(1), pod), InterfaceExists);

    EXPECT_EQ(StateWith(pod), before);
  }
}

TEST_F(SriovDriverTest, HostAndPodMayHaveALinkOfTheOthersName) {
  RunOnHost({"ip", "link", "add", "eth0", "type", "bridge"});
  const Pod pod = MakePod(1);
  RunIn(pod.netns, {"ip", "link", "add", VfLink(1), "type", "bridge"});
  const std::string before = StateWith(pod);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;

  Connect(SriovVif(1), pod);
  Ping(pod, "10.1.0.1");
  driver_->Disconnect(plug, pod.attachment, Soon());

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(SriovDriverTest, WithTheKernelsOwnSysfsNoVethIsAVf) {
  const Pod pod = MakePod(1);
  Connect(SriovVif(1), pod);

  EXPECT_EQ(FindLentVfs({.sysfs = card_->sysfs.root()}, pod.attachment).size(), 1U);
  EXPECT_THAT(FindLentVfs({.sysfs = "/sys"}, pod.attachment), IsEmpty());
}

TEST_F(SriovDriverTest, FindPlugsGivesWhatTheRecordSaid) {
  Pod pod = MakePod(1);
  vif::VifSriov second = SriovVif(2);
  second.network->subnets.reset();
  const std::vector<Plug> plugs = {driver_->Plan({"eth0", true, SriovVif(1)}).plug,
                                   driver_->Plan({"eth1", false, second}).plug};
  Connect(SriovVif(1), pod);
  Connect(second, pod, "eth1");
  pod.attachment.pod_uid.clear();
  pod.attachment.netns_id = {};

  EXPECT_THAT(driver_->FindPlugs(pod.attachment, Soon()),
              ::testing::UnorderedElementsAreArray(plugs));
  EndNamespace(pod, "eth0");
  EXPECT_THAT(driver_->FindPlugs(pod.attachment, Soon()), ElementsAre(plugs[0]));
  pod.attachment.container_id = "other";
  EXPECT_THAT(driver_->FindPlugs(pod.attachment, Soon()), IsEmpty());
}

TEST_F(SriovDriverTest, CheckNamesTheFirstDifference) {
  const Pod pod = MakePod(1);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  Connect(SriovVif(1), pod);
  const auto check = [&](const vif::Vif& vif) {
    return FirstOf(driver_->Check({driver_->PlanWith({"eth0", true, vif}, plug), pod.attachment,
                                   pod.netns, Soon()}))
        .value_or("");
  };

  EXPECT_EQ(check(SriovVif(1)), "");
  RunIn(pod.netns, {"ip", "link", "set", "eth0", "mtu", "1400"});
  EXPECT_EQ(check(SriovVif(1)), "") << "it may be another plugin's";
  std::filesystem::remove(card_->sysfs.Device(VfAddress(1)) / "physfn");
  EXPECT_THAT(check(SriovVif(1)), HasSubstr("no virtual function"));
}

/// The kernel gives the link to one; the others find it gone.
TEST_F(SriovDriverTest, OfManyThatWantOneVfOneGetsIt) {
  constexpr int kPods = 8;
  std::vector<Pod> pods;
  for (int n = 0; n < kPods; ++n) pods.push_back(MakePod(n));
  std::atomic<int> winner = -1;
  {
    std::vector<std::jthread> threads;
    for (int n = 0; n < kPods; ++n) {
      threads.emplace_back([&, n] {
        vif::VifSriov vif = SriovVif(n);
        vif.dev_address = SriovVif(1).dev_address;
        try {
          Connect(vif, pods[static_cast<size_t>(n)]);
          EXPECT_EQ(winner.exchange(n), -1);
        } catch (const std::exception&) {
        }
      });
    }
  }

  ASSERT_NE(winner, -1);
  const auto link = LinkIn(pods[static_cast<size_t>(winner)]);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->mac, *SriovVif(winner).address);
  EXPECT_EQ(OwnerOf(*link, PodAttachment(winner)), Owner::kOwn);
}

}  // namespace
}  // namespace kuryr::binding
