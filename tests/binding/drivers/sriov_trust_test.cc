#include <filesystem>
#include <string>
#include <vector>

#include "tests/binding/drivers/sriov_driver_fixture.h"

// The driver does not believe what a hostile pod does to its VF, or says of others.

namespace kuryr::binding {
namespace {

using ::testing::HasSubstr;

TEST_F(SriovDriverTest, LinkThatThePodMadeWithTheMarkStaysThere) {
  const Pod pod = MakePod(1);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  const std::string before = LinksOf(Netns::Current());
  Connect(SriovVif(1), pod);
  RunIn(pod.netns, {"ip", "link", "add", "evil", "type", "bridge"});
  RunIn(pod.netns, {"ip", "link", "set", "evil", "alias", LinkIn(pod)->alias});

  driver_->Disconnect(plug, pod.attachment, Soon());

  EXPECT_EQ(LinksOf(Netns::Current()), before);
  EXPECT_TRUE(LinkIn(pod, "evil"));
}

TEST_F(SriovDriverTest, LinksThatThePodMadeLikeTheVfDoNotKeepItAndStayThere) {
  const Pod pod = MakePod(1);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  const std::string before = LinksOf(Netns::Current());
  Connect(SriovVif(1), pod);
  const std::string alias = LinkIn(pod)->alias;
  RunIn(pod.netns, {"ip", "link", "add", "evil0", "type", "veth", "peer", "name", "evil1"});
  for (const char* name : {"evil0", "evil1"})
    RunIn(pod.netns, {"ip", "link", "set", name, "alias", alias});

  driver_->Disconnect(plug, pod.attachment, Soon());

  EXPECT_EQ(LinksOf(Netns::Current()), before);
  EXPECT_EQ(RouteSocket().FindLink(VfLink(1))->mtu, 1600U);
  for (const char* name : {"evil0", "evil1"}) EXPECT_TRUE(LinkIn(pod, name)) << name;
}

/// Aliases that a pod may write: notes of earlier versions, another pod's mark, nothing.
const std::vector<std::string>& WrittenByAPod() {
  static const std::vector<std::string> aliases = {
      "kuryr-cni kuryr container-1 eth0 uid-1 "
      "vf=0000:03:10.1,1400,02:00:00:00:00:99,02:00:00:00:00:98,205,evil default/pod-1",
      "kuryr-cni kuryr container-9 eth0 uid-9 default/pod-9",
      "kuryr-cni kuryr container-9 eth0 uid-9 vf=0000:03:10.2 default/pod-9", "backup", ""};
  return aliases;
}

TEST_F(SriovDriverTest, AliasThatThePodWroteDecidesNothingAtItsDisconnect) {
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  Connect(SriovVif(1), pod);
  RunIn(pod.netns, {"ip", "link", "set", "eth0", "alias", WrittenByAPod().front()});

  driver_->Disconnect(plug, pod.attachment, Soon());

  EXPECT_EQ(StateWith(pod), before);
  EXPECT_EQ(RouteSocket().FindLink(VfLink(1)).value().mtu, 1600U);
}

TEST_F(SriovDriverTest, AliasThatThePodWroteDecidesNothingWhenItsNamespaceIsGone) {
  const std::string before = LinksOf(Netns::Current());
  for (const std::string& alias : WrittenByAPod()) {
    const Pod gone = MakePod(1);
    const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
    Connect(SriovVif(1), gone);
    RunIn(gone.netns, {"ip", "link", "set", "eth0", "alias", alias});
    EndNamespace(gone, "dev3");
    {
      const Pod next = MakePod(2);
      Connect(SriovVif(1), next);
      driver_->Disconnect(plug, gone.attachment, Soon());
      EXPECT_TRUE(LinkIn(next)) << "after the late DEL: " << alias;
      RunIn(next.netns, {"ip", "link", "set", "eth0", "alias", alias});
      EndNamespace(next, "dev4");

      driver_->Disconnect(plug, next.attachment, Soon());
    }
    EXPECT_EQ(LinksOf(Netns::Current()), before) << alias;
    EXPECT_EQ(RouteSocket().FindLink(VfLink(1)).value().mtu, 1600U);
    card_->sysfs.SetLinkOf(VfAddress(1), VfLink(1));
  }
}

/// For a VF of an earlier version, or with the state directory lost.
TEST_F(SriovDriverTest, VfOfWhichNothingIsKeptGetsItsNameBackAlone) {
  const Pod pod = MakePod(1);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  Connect(SriovVif(1), pod);
  std::filesystem::remove_all("/run/kuryr");
  EndNamespace(pod, "dev3");

  driver_->Disconnect(plug, pod.attachment, Soon());

  const auto link = RouteSocket().FindLink(VfLink(1));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->mac, *SriovVif(1).address);
  EXPECT_EQ(link->alias, "");
  EXPECT_FALSE(link->up);
}

TEST_F(SriovDriverTest, VfThatIsBackIsRestoredThoughNothingCanBeTakenFromThePod) {
  const Pod pod = MakePod(1);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  Connect(SriovVif(1), pod);
  const std::string alias = LinkIn(pod)->alias;
  MoveToHost(pod, "dev3");
  card_->sysfs.SetLinkOf(VfAddress(1), "dev3");
  RunIn(pod.netns, {"ip", "link", "add", "evil0", "type", "veth", "peer", "name", "evil1"});
  RunIn(pod.netns, {"ip", "link", "set", "evil0", "alias", alias});
  RunOnHost({"ip", "link", "add", "vf-0000-03-10-1", "type", "bridge"});

  EXPECT_THAT(FailureOf([&] { driver_->Disconnect(plug, pod.attachment, Soon()); }),
              HasSubstr("take evil0 from the pod"));

  EXPECT_EQ(RouteSocket().FindLink(VfLink(1)).value().alias, "");
  EXPECT_TRUE(LinkIn(pod, "evil0"));
}

TEST_F(SriovDriverTest, LinkThatIsNoVfIsNotRenamedOnTheHost) {
  const Pod pod = MakePod(1);
  const Plug plug = driver_->Plan({"eth0", true, SriovVif(1)}).plug;
  Connect(SriovVif(1), pod);
  MoveToHost(pod, "vf-0000-03-10-1");
  card_->sysfs.SetLinkOf(VfAddress(1), "ens9v1");

  EXPECT_THAT(FailureOf([&] { driver_->Disconnect(plug, pod.attachment, Soon()); }),
              HasSubstr("vf-0000-03-10-1 is another device"));

  EXPECT_TRUE(RouteSocket().FindLink("vf-0000-03-10-1"));
}

TEST_F(SriovDriverTest, MarkWithAnotherVfDoesNotReachIt) {
  const Pod pod = MakePod(1);
  Connect(SriovVif(1), pod);
  std::string alias = LinkIn(pod)->alias;
  alias.replace(alias.find("10.1 "), 4, "10.2");
  RunIn(pod.netns, {"ip", "link", "set", "eth0", "alias", alias});
  RunIn(pod.netns, {"ip", "link", "set", "eth0", "down"});
  card_->sysfs.SetLinkOf(VfAddress(2), "");

  const auto plugs = driver_->FindPlugs(pod.attachment, Soon());

  ASSERT_EQ(plugs.size(), 1U);
  const std::string before = StateWith(pod);
  driver_->Disconnect(plugs[0], pod.attachment, Soon());
  EXPECT_EQ(StateWith(pod), before) << "it comes back with the end of the namespace";
}

}  // namespace
}  // namespace kuryr::binding
