#include "tests/binding/nested_driver_fixture.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {
namespace {

using test::VlanVif;
using ::testing::HasSubstr;

/// Needs a kernel with 802.1Q.
class NestedVlanTest : public NestedDriverTest {
 protected:
  void SetUp() override {
    NestedDriverTest::SetUp();
    has_vlans_ = CanMakeVlans();
  }
  static bool CanMakeVlans() {
    RouteSocket host;
    try {
      host.CreateVlan({.name = "probe", .parent = *host.FindLink("uplink")}, 4094);
    } catch (const std::system_error&) {
      return false;
    }
    return host.DeleteLink("probe");
  }
  bool has_vlans_ = false;
};

TEST_F(NestedVlanTest, PodReachesItsVlanOnly) {
  if (!has_vlans_) GTEST_SKIP() << "the kernel has no 802.1Q (module 8021q)";
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);
  RunIn(*fabric_, {"ip", "address", "flush", "dev", "fabric"});
  RunIn(*fabric_,
        {"ip", "link", "add", "v101", "link", "fabric", "up", "type", "vlan", "id", "101"});
  Address("v101");

  Connect(VlanVif(1, 101), one);
  Connect(VlanVif(2, 102), two);

  Ping(one, "10.1.0.254");
  Ping(one, "fd00::ff");
  EXPECT_EQ(LinkIn(one)->kind, "vlan");
  EXPECT_EQ(LinkIn(one)->mac, *VlanVif(1, 101).address);
  EXPECT_EQ(LinkIn(one)->mtu, 1450U);
  const NetnsGuard guard(two.netns);
  EXPECT_NE(test::RunProgram({.argv = {"ping", "-c1", "-W1", "10.1.0.254"}}).status, 0);
}

TEST_F(NestedVlanTest, DisconnectRemovesAllAndMayBeRepeated) {
  if (!has_vlans_) GTEST_SKIP() << "the kernel has no 802.1Q (module 8021q)";
  const Pod pod = MakePod(1);
  const std::string before = StateWith(pod);
  Connect(VlanVif(1, 101), pod);
  EXPECT_THROW(Connect(VlanVif(1, 101), pod), InterfaceExists);

  for (int i = 0; i < 2; ++i) {
    Disconnect(VlanVif(1, 101), pod);
    EXPECT_EQ(StateWith(pod), before);
  }
}

TEST_F(NestedVlanTest, IdHeldByAnotherNamespaceIsAConflictThatIsNamed) {
  if (!has_vlans_) GTEST_SKIP() << "the kernel has no 802.1Q (module 8021q)";
  const Pod one = MakePod(1);
  const Pod two = MakePod(2);
  Connect(VlanVif(1, 101), one);
  const std::string before = StateWith(two);

  EXPECT_THAT(FailureOf([&] { Connect(VlanVif(2, 101), two); }),
              HasSubstr("VLAN 101 on uplink is another interface's"));

  EXPECT_EQ(StateWith(two), before);
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
