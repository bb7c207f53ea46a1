#include "tests/bench/driver_floor.h"

#include "binding/links/host_link.h"
#include "binding/netlink/route_socket.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/plan/l3.h"

namespace kuryr::binding {
namespace {

constexpr uint32_t kMtu = 1450;

void MakeVeth(const BenchPod& pod, const std::string& name, const std::string& bridge) {
  RouteSocket host;
  host.CreateVeth({.name = name,
                   .peer_name = "eth0",
                   .peer_netns_fd = pod.netns.fd(),
                   .peer_mac = *vif::Common(pod.vif).address,
                   .mtu = kMtu,
                   .master = bridge.empty() ? 0 : host.FindLink(bridge)->index});
  DisableIpv6(name);
  host.SetUp(*host.FindLink(name));
}

void SetUpInPod(const BenchPod& pod) {
  RouteSocket inside = RouteSocket::OpenIn(pod.netns);
  inside.SetUp(*inside.FindLink("eth0"));
  ConfigureL3(pod.netns, "eth0", pod.planned.l3, L3Scope::kPod);
}

OvsPort PortOf(const std::string& name) {
  return {.name = name, .bridge = "br-int", .external_ids = {{"iface-id", name}}};
}

void DeletePort(BenchNode& node, const std::string& name) {
  OpenVSwitch(node.remote()).DeletePort(name, {}, Soon());
}

void ConnectToOvs(BenchNode& node, const BenchPod& pod) {
  const std::string& tap = pod.planned.plug.host_interface;
  MakeVeth(pod, tap, "");
  OpenVSwitch ovs(node.remote());
  const auto added = std::get<AddedPort>(ovs.AddPort(PortOf(tap), Soon()));
  SetUpInPod(pod);
  ovs.WaitUntilUp(PortOf(tap), added, Soon());
}

void ConnectHybrid(BenchNode& node, const BenchPod& pod) {
  const std::string& hub = pod.planned.plug.device;
  RouteSocket host;
  host.CreateHub(hub);
  DisableIpv6(hub);
  host.SetUp(*host.FindLink(hub));
  host.CreateVeth({.name = "v" + hub,
                   .peer_name = "o" + hub,
                   .mtu = kMtu,
                   .master = host.FindLink(hub)->index});
  for (const std::string& name : {"v" + hub, "o" + hub}) {
    DisableIpv6(name);
    host.SetUp(*host.FindLink(name));
  }
  OpenVSwitch ovs(node.remote());
  const OvsPort port = PortOf("o" + hub);
  const auto added = std::get<AddedPort>(ovs.AddPort(port, Soon()));
  MakeVeth(pod, pod.planned.plug.host_interface, hub);
  SetUpInPod(pod);
  ovs.WaitUntilUp(port, added, Soon());
}

void DisconnectHybrid(BenchNode& node, const BenchPod& pod) {
  DeletePort(node, "o" + pod.planned.plug.device);
  for (const std::string& name :
       {pod.planned.plug.host_interface, "o" + pod.planned.plug.device, pod.planned.plug.device})
    node.DeleteLink(name);
}

StackedLink OnUplink(RouteSocket& host, const BenchPod& pod) {
  return {.name = "eth0",
          .parent = *host.FindLink("uplink"),
          .netns_fd = pod.netns.fd(),
          .mac = *vif::Common(pod.vif).address,
          .mtu = kMtu};
}

void DeleteInPod(BenchNode& /*node*/, const BenchPod& pod) {
  RouteSocket::OpenIn(pod.netns).DeleteLink("eth0");
}

}  // namespace

Floor OvsFloor() {
  return {.connect = ConnectToOvs, .disconnect = [](BenchNode& node, const BenchPod& pod) {
            DeletePort(node, pod.planned.plug.host_interface);
            node.DeleteLink(pod.planned.plug.host_interface);
          }};
}

Floor HybridFloor() { return {.connect = ConnectHybrid, .disconnect = DisconnectHybrid}; }

Floor BridgeFloor() {
  return {
      .connect =
          [](BenchNode& /*node*/, const BenchPod& pod) {
            MakeVeth(pod, pod.planned.plug.host_interface, "br-lan");
            SetUpInPod(pod);
          },
      .disconnect = [](BenchNode& node,
                       const BenchPod& pod) { node.DeleteLink(pod.planned.plug.host_interface); }};
}

Floor MacvlanFloor() {
  return {.connect =
              [](BenchNode& /*node*/, const BenchPod& pod) {
                RouteSocket host;
                host.CreateMacvlan(OnUplink(host, pod));
                SetUpInPod(pod);
              },
          .disconnect = DeleteInPod};
}

Floor VlanFloor() {
  return {.connect =
              [](BenchNode& /*node*/, const BenchPod& pod) {
                RouteSocket host;
                host.CreateVlan(OnUplink(host, pod),
                                *std::get<vif::VifVlanNested>(pod.vif).vlan_id);
                SetUpInPod(pod);
              },
          .disconnect = DeleteInPod};
}

}  // namespace kuryr::binding
