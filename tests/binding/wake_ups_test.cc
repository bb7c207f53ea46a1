// The kernel's notices on the host when a pod on Open vSwitch comes and goes. ovs-vswitchd looks
// at the whole node after each such notice.
#include <gmock/gmock.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "binding/ovs/open_vswitch.h"
#include "tests/binding/node_fixture.h"
#include "tests/support/route_monitor.h"

namespace kuryr::binding {
namespace {

using test::RouteMonitor;
using test::RouteNotice;
using ::testing::Le;
using ::testing::SizeIs;
using Notices = std::vector<RouteNotice>;

class WakeUpsTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    // The first port gives br-int its MTU.
    peer_.emplace(MakePod(PlugScenarios().front(), 1));
    Connect(*peer_);
    OpenVSwitch(ovs_->remote()).WaitUntilApplied(Soon());
  }
  /// Whether a link is told of with these flags.
  static bool HasFlags(const Notices& notices, unsigned int flags) {
    return std::any_of(notices.begin(), notices.end(),
                       [&](const RouteNotice& notice) { return (notice.flags & flags) == flags; });
  }
  /// Without those that say that the pod's end is not up yet: the kernel leaves them out when it
  /// has told of another link less than a second ago.
  static Notices WithoutWait(Notices notices) {
    const auto waits = [](const RouteNotice& notice) {
      return (notice.flags & IFF_UP) != 0 && (notice.flags & IFF_RUNNING) == 0;
    };
    notices.erase(std::remove_if(notices.begin(), notices.end(), waits), notices.end());
    return notices;
  }
  /// The kernel tells of the carrier by a worker of its own, which a busy machine lets wait.
  static bool IsConnected(const Notices& notices) {
    return HasFlags(notices, PortFlags()) && HasFlags(notices, IFF_LOWER_UP | IFF_RUNNING);
  }
  static bool HasEnd(const Notices& notices) {
    return std::any_of(notices.begin(), notices.end(),
                       [](const RouteNotice& notice) { return notice.type == RTM_DELLINK; });
  }
  static bool IsOfKernel() { return test::PrivateOvs::datapath_type() == "system"; }
  /// The kernel's datapath is a link's master, and tells of that, too.
  static size_t OfDatapath() { return IsOfKernel() ? 2 : 0; }
  /// The settings of a port. The kernel does not tell of links that it made promiscuous itself.
  static unsigned int PortFlags() { return IsOfKernel() ? 0 : IFF_PROMISC; }

  std::optional<Pod> peer_;
};

TEST_F(WakeUpsTest, HostHearsOfANewPodOnceForEachStateOfItsLink) {
  const Pod pod = MakePod(PlugScenarios().front(), 2);
  RouteMonitor host;

  Connect(pod);

  // There; up; a port, which is promiscuous; connected.
  EXPECT_THAT(WithoutWait(host.Until(IsConnected)), SizeIs(Le(4 + OfDatapath())));
}

TEST_F(WakeUpsTest, HostHearsOfAPodsEndOnceForEachStateOfItsLink) {
  const Pod pod = MakePod(PlugScenarios().front(), 2);
  {
    RouteMonitor before;
    Connect(pod);
    OpenVSwitch(ovs_->remote()).WaitUntilApplied(Soon());
    before.Until(IsConnected);
  }
  RouteMonitor host;

  Disconnect(pod);

  // No port any more; down; gone.
  EXPECT_THAT(host.Until(HasEnd), SizeIs(Le(3 + OfDatapath())));
}

}  // namespace
}  // namespace kuryr::binding
