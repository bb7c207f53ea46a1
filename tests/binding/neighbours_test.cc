// Pods of every driver whose address comes back with another MAC, or whose MAC comes back at
// another place: what their neighbours, and the switches between them, know when the pod has
// announced itself; and what they can tell the pod.
#include <gmock/gmock.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "binding/netlink/link_watch.h"
#include "binding/netlink/route_socket.h"
#include "tests/binding/device_scenario.h"
#include "tests/binding/frames.h"
#include "tests/binding/node_fixture.h"
#include "tests/support/neighbour_table.h"

namespace kuryr::binding {
namespace {

using test::NeighbourTable;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ValuesIn;

const MacAddress kOtherMac = MacAddress::Parse("fa:16:3e:80:d4:77").value();

/// A router's word that it is one, and that 2001:db8::/64 is on the link.
test::FrameBytes Advertisement(const MacAddress& from) {
  const IpAddress source = test::Ip("fe80::77");
  const IpAddress all = test::Ip("ff02::1");
  test::FrameBytes message = test::FrameBuilder()
                                 .Add({134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0})
                                 .Add({3, 4, 64, 0xc0, 0, 0, 0x10, 0, 0, 0, 0x10, 0, 0, 0, 0, 0})
                                 .Add(test::Ip("2001:db8::"))
                                 .bytes();
  const test::FrameBytes summed = test::FrameBuilder()
                                      .Add(source)
                                      .Add(all)
                                      .Add({0, 0, 0, static_cast<int>(message.size()), 0, 0, 0, 58})
                                      .Add(message)
                                      .bytes();
  uint32_t sum = 0;
  for (size_t i = 0; i < summed.size(); i += 2) sum += (uint32_t{summed[i]} << 8U) | summed[i + 1];
  while (sum > 0xffff) sum = (sum & 0xffffU) + (sum >> 16U);
  message[2] = static_cast<uint8_t>(~sum >> 8U);
  message[3] = static_cast<uint8_t>(~sum);
  return test::Ipv6Frame(test::Mac("33:33:00:00:00:01"), from, source, all, 58, message);
}

void SendFrame(const Netns& netns, const std::string& link, const test::FrameBytes& bytes) {
  const NetnsGuard inside(netns);
  const UniqueFd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = static_cast<int>(::if_nametoindex(link.c_str()));
  if (::sendto(socket.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to),
               sizeof to) < 0)
    ThrowErrno("send a frame");
}

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

TEST_P(NeighboursTest, AreNoRouters) {
  const Netns& neighbour = Neighbour();
  const Pod pod = MakePod(GetParam(), 1);
  Connect(pod);
  const std::string link = peer_ ? "eth0" : "tagged";
  RunIn(neighbour, {"ping", "-c1", "-w20", "fd00::1"});
  const std::string before = RunIn(pod.netns, {"ip", "-6", "route"});
  const MacAddress mac = RouteSocket::OpenIn(neighbour).FindLink(link)->mac;

  SendFrame(neighbour, link, Advertisement(mac));
  RunIn(neighbour, {"ping", "-c1", "-w20", "fd00::1"});

  EXPECT_THAT(RunIn(pod.netns, {"ip", "-6", "address"}), Not(HasSubstr("2001:db8:")));
  EXPECT_EQ(RunIn(pod.netns, {"ip", "-6", "route"}), before);
}

TEST_P(NeighboursTest, MayBeRoutersWhereThePlanLeavesASubnetToThem) {
  Pod pod = MakePod(GetParam(), 1);
  vif::Subnet& ipv6 = vif::Common(pod.vif).network->subnets->objects->back();
  ipv6.ips->objects->clear();
  pod.planned = binding_->Plan({"eth0", true, pod.vif});
  const Netns& neighbour = Neighbour();
  Connect(pod);
  const std::string link = peer_ ? "eth0" : "tagged";
  RunIn(neighbour, {"ping", "-c1", "-w20", "10.1.0.1"});

  SendFrame(neighbour, link, Advertisement(RouteSocket::OpenIn(neighbour).FindLink(link)->mac));
  RunIn(neighbour, {"ping", "-c1", "-w20", "10.1.0.1"});

  EXPECT_THAT(RunIn(pod.netns, {"ip", "-6", "address"}), HasSubstr("2001:db8:"));
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

TEST_F(SwitchesTest, OfOvnHearOnlyOfAddressesThatMayHaveHadAnotherMac) {
  using Who = PortWiring::Who;
  const auto announces = [&](const MacAddress& mac, Who who) {
    Pod pod = ConnectedPod("br-int");
    pod.planned.mac = mac;
    binding_->Announce(pod.planned, pod.netns, who);
    const std::string said = RunIn(pod.netns, {"sysctl", "-n", "net.ipv4.conf.eth0.arp_notify"});
    Disconnect(pod);
    return said == "1\n";
  };
  const MacAddress mac_of_address = MacAddress::Parse("0a:58:0a:01:00:01").value();

  EXPECT_FALSE(announces(mac_of_address, Who::kOvn));
  EXPECT_TRUE(announces(mac_of_address, Who::kNobody));
  EXPECT_TRUE(announces(kOtherMac, Who::kOvn));
}

}  // namespace
}  // namespace kuryr::binding
