// Pods of every driver whose address comes back with another MAC, or whose MAC comes back at
// another place: what their neighbours, and the switches between them, know when the pod has
// announced itself.
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "binding/netlink/link_watch.h"
#include "binding/netlink/route_socket.h"
#include "tests/binding/device_scenario.h"
#include "tests/binding/node_fixture.h"
#include "tests/support/neighbour_table.h"

namespace kuryr::binding {
namespace {

using test::NeighbourTable;
using ::testing::ValuesIn;

const MacAddress kOtherMac = MacAddress::Parse("fa:16:3e:80:d4:77").value();

class NeighboursTest : public NodeTest, public ::testing::WithParamInterface<PlugScenario> {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    if (GetParam().needs_vlans && !CanMakeVlans("uplink")) GTEST_SKIP() << kNoVlans;
    if (GetParam().devices != nullptr) {
      try {
        devices_ = GetParam().devices(*ovs_);
      } catch (const std::system_error& e) {
        GTEST_SKIP() << "no such devices on this machine: " << e.what();
      }
      BindingConfig config = Config();
      devices_->Configure(config);
      Renew(config);
    }
    if (GetParam().needs_vlans) MoveFabricToVlan(101);
  }
  /// A namespace that knows pod 1.
  const Netns& Neighbour() {
    if (GetParam().peer != "10.1.0.2") {
      RunIn(*fabric_, {"ip", "address", "add", "fd00::fe/64", "dev", "tagged", "nodad"});
      return *fabric_;
    }
    peer_.emplace(MakePod(GetParam(), 2));
    Connect(*peer_);
    return peer_->netns;
  }
  /// Cards that are made of veths have their other ends on a bridge.
  static void WaitForWires() {
    RouteSocket host;
    for (const char* name : {"wire1", "wire2"}) {
      const auto wire = host.FindLink(name);
      if (!wire || !wire->up) continue;
      ASSERT_TRUE(WaitUntilRunning(host, *wire, Soon()));
    }
  }
  Pod PodWith(const MacAddress& mac) {
    Pod pod = MakePod(GetParam(), 1);
    vif::Common(pod.vif).address = mac;
    pod.planned = binding_->Plan({"eth0", true, pod.vif});
    return pod;
  }

  std::unique_ptr<NodeDevices> devices_;
  std::optional<Pod> peer_;
};

TEST_P(NeighboursTest, TakeTheNewMacOfAnAddressThatComesBack) {
  const Netns& neighbour = Neighbour();
  NeighbourTable table(neighbour);
  const Pod before = MakePod(GetParam(), 1);
  Connect(before);
  for (const char* address : {"10.1.0.1", "fd00::1"}) {
    RunIn(neighbour, {"ping", "-c1", "-w20", address});
    table.WaitFor(address, before.planned.mac);
  }
  Disconnect(before);
  const Pod after = PodWith(kOtherMac);
  Connect(after);
  WaitForWires();

  binding_->Announce(after.planned, after.netns);

  for (const char* address : {"10.1.0.1", "fd00::1"}) table.WaitFor(address, kOtherMac);
}

std::string NameOf(const ::testing::TestParamInfo<PlugScenario>& info) { return info.param.name; }

std::vector<PlugScenario> WithPeer(const std::vector<PlugScenario>& all) {
  std::vector<PlugScenario> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [](const PlugScenario& scenario) { return !scenario.peer.empty(); });
  return some;
}

INSTANTIATE_TEST_SUITE_P(Drivers, NeighboursTest, ValuesIn(WithPeer(PlugScenarios())), NameOf);
INSTANTIATE_TEST_SUITE_P(Devices, NeighboursTest, ValuesIn(WithPeer(DeviceScenarios())), NameOf);

/// For drivers that leave the pod's end to an application.
class ApplicationsTest : public NeighboursTest {};

TEST_P(ApplicationsTest, AreLeftToAnnounceThemselves) {
  const Pod pod = MakePod(GetParam(), 1);
  Connect(pod);
  // Another plugin's, under the name that the VIF has.
  RunIn(pod.netns, {"ip", "link", "add", "eth0", "type", "bridge"});

  binding_->Announce(pod.planned, pod.netns);

  EXPECT_EQ(RunIn(pod.netns, {"sysctl", "-n", "net.ipv4.conf.eth0.arp_notify"}), "0\n");
}

std::vector<PlugScenario> WithoutPeer(const std::vector<PlugScenario>& all) {
  std::vector<PlugScenario> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [](const PlugScenario& scenario) { return scenario.peer.empty(); });
  return some;
}

INSTANTIATE_TEST_SUITE_P(Devices, ApplicationsTest, ValuesIn(WithoutPeer(DeviceScenarios())),
                         NameOf);

/// Two nodes, br-int and br-two, and the switch between them: the kernel's. Bridges of one
/// ovs-vswitchd forget a port's MACs together.
class SwitchesTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    ovs_->Vsctl({"add-br", "br-two", "--", "set", "Bridge", "br-two",
                 "datapath_type=" + test::PrivateOvs::datapath_type()});
    for (const char* bridge : {"br-int", "br-two"}) {
      const std::string node = std::string(bridge).substr(3);
      RunOnHost({"ip", "link", "add", "from-" + node, "up", "type", "veth", "peer", "name",
                 "to-" + node});
      RunOnHost({"ip", "link", "set", "to-" + node, "up", "master", "br-lan"});
      ovs_->Vsctl({"add-port", bridge, "from-" + node});
    }
  }
  /// Pod 1 on the node of that bridge. Without IPv6 it says nothing by itself.
  Pod ConnectedPod(const std::string& bridge) {
    Pod pod = MakePod(PlugScenarios().front(), 1);
    RunIn(pod.netns, {"sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1"});
    auto& vif = std::get<vif::VifOpenVSwitch>(pod.vif);
    vif.bridge_name = bridge;
    vif.network->subnets->objects->pop_back();
    pod.planned = binding_->Plan({"eth0", true, pod.vif});
    Connect(pod);
    return pod;
  }
};

TEST_F(SwitchesTest, LearnWhereAMacHasMoved) {
  const PlugScenario on_the_switch = {.name = "Bridge",
                                      .vif = [](int n) -> vif::Vif { return test::BridgeVif(n); }};
  const Pod peer = MakePod(on_the_switch, 2);
  Connect(peer);
  const Pod before = ConnectedPod("br-int");
  Ping(peer, "10.1.0.1");
  // From now on the peer never asks for it.
  RunIn(peer.netns, {"ip", "neighbour", "replace", "10.1.0.1", "lladdr",
                     before.planned.mac.ToString(), "dev", "eth0", "nud", "permanent"});
  Disconnect(before);
  const Pod after = ConnectedPod("br-two");

  binding_->Announce(after.planned, after.netns);

  Ping(peer, "10.1.0.1");
}

}  // namespace
}  // namespace kuryr::binding
