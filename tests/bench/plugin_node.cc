#include "tests/bench/plugin_node.h"

#include <chrono>
#include <variant>

#include "base/thread_annotations.h"
#include "binding/links/host_link.h"
#include "binding/netlink/route_socket.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/plan/l3.h"

namespace kuryr::test {
namespace {

binding::OvsPort PortOf(const TestPod& pod) {
  return {.name = pod.tap,
          .bridge = "br-int",
          .external_ids = {{"iface-id", pod.port_id},
                           {binding::OpenVSwitch::kContainerId, pod.container_id}},
          .datapath_type = PrivateOvs::datapath_type()};
}

/// Makes one veth pair at a time, as the drivers do: Shared::making_links.
void MakeVeth(const TestPod& pod, const binding::Netns& netns) {
  static Mutex making_links;
  const MutexLock turn(making_links);
  binding::RouteSocket host;
  host.CreateVeth({.name = pod.tap,
                   .peer_name = "eth0",
                   .peer_netns_fd = netns.fd(),
                   .peer_mac = MacAddress::Parse(pod.mac),
                   .mtu = 1500});
  binding::DisableIpv6(pod.tap);
  host.SetUp(*host.FindLink(pod.tap));
}

/// Long enough for 500 at once on a node of many pods, which take some seconds.
Deadline Soon() { return Deadline::After(std::chrono::minutes(1)); }

}  // namespace

void BareAdd(PluginNode& node, const TestPod& pod, const vif::Vif& vif) {
  const Deadline deadline = Soon();
  const binding::Netns netns = binding::Netns::Open(pod.netns);
  MakeVeth(pod, netns);
  binding::OpenVSwitch ovs(node.Remote());
  const auto added = std::get<binding::AddedPort>(ovs.AddPort(PortOf(pod), deadline));
  binding::RouteSocket inside = binding::RouteSocket::OpenIn(netns);
  inside.SetUp(*inside.FindLink("eth0"));
  binding::ConfigureL3(netns, "eth0", binding::PlanL3(vif::Common(vif), true),
                       binding::L3Scope::kPod);
  ovs.WaitUntilUp(PortOf(pod), added, deadline);
}

void BareDel(PluginNode& node, const TestPod& pod) {
  const Deadline deadline = Soon();
  binding::OpenVSwitch ovs(node.Remote());
  ovs.DeletePort(pod.tap, {{binding::OpenVSwitch::kContainerId, pod.container_id}}, deadline);
  binding::RouteSocket host;
  node.links().Remove(host, {host.FindLink(pod.tap).value()});
}

}  // namespace kuryr::test
