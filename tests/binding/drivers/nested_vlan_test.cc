#include <linux/if_ether.h>

#include <set>
#include <utility>

#include "tests/binding/drivers/nested_driver_fixture.h"
#include "tests/support/frame_capture.h"

namespace kuryr::binding {
namespace {

using test::VlanVif;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class NestedVlanTest : public NestedDriverTest {
 protected:
  void SetUp() override {
    NestedDriverTest::SetUp();
    has_vlans_ = CanMakeVlans("uplink");
  }
  /// The fabric has its addresses in VLAN `id`, and not outside of it.
  void MoveFabricIntoVlan(int id) {
    RunIn(*fabric_, {"ip", "address", "flush", "dev", "fabric"});
    RunIn(*fabric_, {"ip", "link", "add", "tagged", "link", "fabric", "up", "type", "vlan", "id",
                     std::to_string(id)});
    Address("tagged");
  }
  static test::Process PauseIn(const Pod& pod) {
    const NetnsGuard guard(pod.netns);
    return test::Process({.argv = {"sleep", "600"}});
  }
  bool has_vlans_ = false;
};

TEST_F(NestedVlanTest, PodReachesItsVlanOnly) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);
  MoveFabricIntoVlan(101);

  Connect(VlanVif(1, 101), one);
  Connect(VlanVif(2, 102), two);

  for (const char* address : {"10.1.0.254", "fd00::ff"}) {
    PingInFullSize(one, address, 1450);
    EXPECT_FALSE(Answers(two, address)) << address;
  }
  EXPECT_FALSE(Answers(one, "10.1.0.2"));
  EXPECT_EQ(LinkIn(one)->kind, "vlan");
  EXPECT_EQ(LinkIn(one)->mac, *VlanVif(1, 101).address);
  EXPECT_EQ(LinkIn(one)->mtu, 1450U);
  ExpectDifferences(VlanVif(1, 101), one);
}

TEST_F(NestedVlanTest, UntaggedFabricIsOutOfReach) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  const Pod pod = MakePod(1);

  Connect(VlanVif(1, 101), pod);

  for (const char* address : {"10.1.0.254", "fd00::ff"})
    EXPECT_FALSE(Answers(pod, address)) << address;
}

TEST_F(NestedVlanTest, EveryFrameOfThePodIsTaggedOnTheParent) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  const Pod pod = MakePod(1);
  const MacAddress mac = *VlanVif(1, 101).address;
  MoveFabricIntoVlan(101);
  test::FrameCapture capture("uplink");

  Connect(VlanVif(1, 101), pod);
  Ping(pod, "10.1.0.254");
  Ping(pod, "fd00::ff");

  std::set<std::pair<bool, int>> seen;
  for (const test::Frame& frame : capture.Take()) {
    if (frame.source != mac && frame.destination != mac) continue;
    EXPECT_EQ(frame.vlan_id, 101) << (frame.outgoing ? "sent " : "received ") << frame.protocol;
    seen.emplace(frame.outgoing, frame.protocol);
  }
  for (const bool outgoing : {true, false}) {
    EXPECT_THAT(seen, IsSupersetOf({std::pair(outgoing, ETH_P_ARP), std::pair(outgoing, ETH_P_IP),
                                    std::pair(outgoing, ETH_P_IPV6)}));
  }
}

TEST_F(NestedVlanTest, WithoutAnMtuFramesMayBeAsLongAsTheParents) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  const Pod pod = MakePod(1);
  vif::VifVlanNested vif = VlanVif(1, 101);
  vif.network->mtu.reset();
  MoveFabricIntoVlan(101);

  const auto interfaces = Connect(vif, pod);

  EXPECT_EQ(interfaces.at(0).mtu, 1500U);
  for (const char* address : {"10.1.0.254", "fd00::ff"}) PingInFullSize(pod, address, 1500);
}

TEST_F(NestedVlanTest, DisconnectRemovesAllAndMayBeRepeated) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  Connect(VlanVif(1, 101), pod);
  EXPECT_THROW(Connect(VlanVif(1, 101), pod), InterfaceExists);

  for (int i = 0; i < 2; ++i) {
    Disconnect(VlanVif(1, 101), pod);
    EXPECT_EQ(StateWith(pod), before);
  }
}

TEST_F(NestedVlanTest, IdOfALivingPodIsAConflict) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);
  Connect(VlanVif(1, 101), one);
  const std::string before = StateWith(two);
  const test::Process pause = PauseIn(one);

  EXPECT_THAT(
      FailureOf([&] { Connect(VlanVif(2, 101), two); }),
      AllOf(HasSubstr("VLAN 101 on uplink belongs to another interface"), Not(HasSubstr("uid-1"))));

  EXPECT_EQ(StateWith(two), before);
  EXPECT_TRUE(LinkIn(one));
}

TEST_F(NestedVlanTest, IdOfTheNodeItselfIsAConflict) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  RunOnHost({"ip", "link", "add", "v101", "link", "uplink", "type", "vlan", "id", "101"});
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);

  EXPECT_THAT(FailureOf([&] { Connect(VlanVif(1, 101), pod); }),
              HasSubstr("VLAN 101 on uplink belongs to another interface"));

  EXPECT_EQ(StateWith(pod), before);
}

TEST_F(NestedVlanTest, IdLeftBehindInAnEmptyNamespaceIsFreed) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  const Pod gone = MakePod(1);
  const Pod other = MakePod(3);
  const Pod pod = MakePod(2);
  Connect(VlanVif(1, 101), gone);
  Connect(VlanVif(3, 103), other);
  MoveFabricIntoVlan(101);

  Connect(VlanVif(2, 101), pod);

  Ping(pod, "10.1.0.254");
  EXPECT_FALSE(LinkIn(gone));
  EXPECT_TRUE(LinkIn(other)) << "exactly the offender";
}

TEST_F(NestedVlanTest, IdOfAPodAtItsAddIsAConflictThatIsNamed) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  const Pod early = MakePod(1);
  const Pod pod = MakePod(2);
  Connect(VlanVif(1, 101), early);
  Configure({.is_in_use = [&](const Attachment& attachment) {
    return attachment.container_id == early.attachment.container_id;
  }});

  EXPECT_THROW(Connect(VlanVif(2, 101), pod), std::system_error);

  EXPECT_TRUE(LinkIn(early)) << "no process lives there yet";
}

TEST_F(NestedVlanTest, IdOfAnOlderSandboxOfThePodIsFreed) {
  if (!has_vlans_) GTEST_SKIP() << kNoVlans;
  Pod older = MakePod(1);
  older.attachment.container_id = "older";
  const Pod pod = MakePod(1);
  Connect(VlanVif(1, 101), older);
  const test::Process pause = PauseIn(older);

  Connect(VlanVif(1, 101), pod);

  EXPECT_FALSE(LinkIn(older));
  EXPECT_TRUE(LinkIn(pod));
}

TEST_F(NestedVlanTest, KernelWithoutVlansIsAnErrorThatNamesTheVlan) {
  if (has_vlans_) GTEST_SKIP() << "the kernel has 802.1Q";
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);

  EXPECT_THAT(FailureOf([&] { Connect(VlanVif(1, 101), pod); }), HasSubstr("VLAN 101"));

  EXPECT_EQ(StateWith(pod), before);
}

}  // namespace
}  // namespace kuryr::binding
