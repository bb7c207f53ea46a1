// What each driver's Connect and Disconnect cost, side by side with their floor: the same netlink
// requests and OVSDB transactions without a question asked. In the process, layer 3 included; with
// 0 and more pods of the same driver on the node. Counters are medians in milliseconds.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "binding/binding.h"
#include "binding/l3.h"
#include "binding/netlink/route_socket.h"
#include "binding/ovs/open_vswitch.h"
#include "tests/binding/vifs.h"
#include "tests/support/netns_fixture.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {
namespace {

using Clock = std::chrono::steady_clock;

Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

struct Pod {
  Attachment attachment;
  Netns netns;
  vif::Vif vif;
  Plug plug;
};

/// A host with Open vSwitch and br-int, the bridge br-lan, and a link "uplink".
class Node : public test::NetnsTest {
 public:
  using MakeVif = std::function<vif::Vif(int)>;

  Node() {
    NetnsTest::SetUp();
    ovs_.emplace("/run");
    ovs_->Vsctl({"add-br", "br-int", "--", "set", "Bridge", "br-int",
                 "datapath_type=" + test::PrivateOvs::datapath_type()});
    RunOnHost({"ip", "link", "add", "br-lan", "up", "type", "bridge"});
    RunOnHost({"ip", "link", "add", "uplink", "up", "type", "veth", "peer", "name", "wire"});
    RunOnHost({"ip", "link", "set", "wire", "up"});
    config_ = {.ovsdb_connection = ovs_->remote(), .link_iface = "uplink"};
    binding_.emplace(config_);
  }
  ~Node() override {
    ovs_.reset();
    NetnsTest::TearDown();
  }
  void TestBody() override {}

  Pod Make(const MakeVif& make_vif) {
    const int n = ++pods_;
    const std::string path = MakePodNetnsPath();
    const std::string id = std::to_string(n);
    vif::Vif vif = make_vif(1);
    vif::VifBase& common = vif::Common(vif);
    common.address->bytes[4] = static_cast<uint8_t>(n >> 8);
    common.address->bytes[5] = static_cast<uint8_t>(n);
    common.port_profile.reset();
    common.id = "00000000-0000-4000-8000-" + std::string(12 - id.size(), '0') + id;
    if (auto* ovs = std::get_if<vif::VifOpenVSwitch>(&vif)) ovs->vif_name = "tap" + id;
    if (auto* bridge = std::get_if<vif::VifBridge>(&vif)) {
      bridge->vif_name = "tap" + id;
      if (*bridge->plugin == "ovs") bridge->bridge_name = "qbr" + id;
    }
    Plug plug = binding_->Plan(vif, "eth0");
    Netns netns = Netns::Open(path);
    Attachment attachment{.network = "kuryr",
                          .container_id = "container-" + id,
                          .ifname = "eth0",
                          .pod = "default/pod-" + id,
                          .pod_uid = "uid-" + id,
                          .netns = path,
                          .netns_id = netns.id()};
    return {std::move(attachment), std::move(netns), std::move(vif), std::move(plug)};
  }
  void Connect(const Pod& pod) {
    binding_->Connect(pod.vif, pod.plug, pod.attachment, pod.netns, true, Soon());
  }
  void Disconnect(const Pod& pod) { binding_->Disconnect(pod.plug, pod.attachment, Soon()); }
  [[nodiscard]] const std::string& remote() const { return config_.ovsdb_connection; }

 private:
  std::optional<test::PrivateOvs> ovs_;
  BindingConfig config_;
  std::optional<Binding> binding_;
  int pods_ = 0;
};

void BareVeth(const Pod& pod, const std::string& name, const std::string& bridge) {
  RouteSocket host;
  host.CreateVeth({.name = name,
                   .peer_name = "eth0",
                   .peer_netns_fd = pod.netns.fd(),
                   .peer_mac = *vif::Common(pod.vif).address,
                   .mtu = 1450,
                   .master = bridge.empty() ? 0 : host.FindLink(bridge)->index});
  host.SetUp(*host.FindLink(name));
}

void BarePodSide(const Pod& pod) {
  RouteSocket inside = RouteSocket::OpenIn(pod.netns);
  inside.SetUp(*inside.FindLink("eth0"));
  ConfigureL3(pod.netns, "eth0", vif::Common(pod.vif), true);
}

OvsPort BarePort(const std::string& name) {
  return {.name = name, .bridge = "br-int", .external_ids = {{"iface-id", name}}};
}

struct Floor {
  std::function<void(Node&, const Pod&)> connect;
  std::function<void(Node&, const Pod&)> disconnect;
};

Floor OvsFloor() {
  return {.connect =
              [](Node& node, const Pod& pod) {
                const std::string& tap = pod.plug.host_interface;
                BareVeth(pod, tap, "");
                OpenVSwitch ovs(node.remote());
                const auto added = std::get<AddedPort>(ovs.AddPort(BarePort(tap), Soon()));
                BarePodSide(pod);
                ovs.WaitUntilUp(BarePort(tap), added, Soon());
              },
          .disconnect =
              [](Node& node, const Pod& pod) {
                OpenVSwitch(node.remote()).DeletePort(pod.plug.host_interface, {}, Soon());
                RouteSocket().DeleteLink(pod.plug.host_interface);
              }};
}

Floor HybridFloor() {
  return {.connect =
              [](Node& node, const Pod& pod) {
                const std::string& hub = pod.plug.device;
                RouteSocket host;
                host.CreateHub(hub);
                host.SetUp(*host.FindLink(hub));
                host.CreateVeth({.name = "v" + hub,
                                 .peer_name = "o" + hub,
                                 .mtu = 1450,
                                 .master = host.FindLink(hub)->index});
                for (const std::string& name : {"v" + hub, "o" + hub})
                  host.SetUp(*host.FindLink(name));
                OpenVSwitch ovs(node.remote());
                const OvsPort port = BarePort("o" + hub);
                const auto added = std::get<AddedPort>(ovs.AddPort(port, Soon()));
                BareVeth(pod, pod.plug.host_interface, hub);
                BarePodSide(pod);
                ovs.WaitUntilUp(port, added, Soon());
              },
          .disconnect =
              [](Node& node, const Pod& pod) {
                OpenVSwitch(node.remote()).DeletePort("o" + pod.plug.device, {}, Soon());
                RouteSocket host;
                for (const std::string& name :
                     {pod.plug.host_interface, "o" + pod.plug.device, pod.plug.device})
                  host.DeleteLink(name);
              }};
}

Floor BridgeFloor() {
  return {.connect =
              [](Node& /*node*/, const Pod& pod) {
                BareVeth(pod, pod.plug.host_interface, "br-lan");
                BarePodSide(pod);
              },
          .disconnect = [](Node& /*node*/,
                           const Pod& pod) { RouteSocket().DeleteLink(pod.plug.host_interface); }};
}

Floor MacvlanFloor() {
  return {.connect =
              [](Node& /*node*/, const Pod& pod) {
                RouteSocket host;
                host.CreateMacvlan({.name = "eth0",
                                    .parent = *host.FindLink("uplink"),
                                    .netns_fd = pod.netns.fd(),
                                    .mac = *vif::Common(pod.vif).address,
                                    .mtu = 1450});
                BarePodSide(pod);
              },
          .disconnect = [](Node& /*node*/,
                           const Pod& pod) { RouteSocket::OpenIn(pod.netns).DeleteLink("eth0"); }};
}

double Milliseconds(const std::function<void()>& action) {
  const auto start = Clock::now();
  action();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double MedianOf(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

/// Driver and floor in turn, so that both see the same node.
void Measure(benchmark::State& state, const Node::MakeVif& make_vif, const Floor& floor) {
  Node node;
  std::vector<Pod> present;
  for (int64_t i = 0; i < state.range(0); ++i)
    node.Connect(present.emplace_back(node.Make(make_vif)));
  std::vector<double> connect;
  std::vector<double> disconnect;
  std::vector<double> floor_connect;
  std::vector<double> floor_disconnect;
  for (auto _ : state) {
    const Pod pod = node.Make(make_vif);
    connect.push_back(Milliseconds([&] { node.Connect(pod); }));
    disconnect.push_back(Milliseconds([&] { node.Disconnect(pod); }));
    const Pod bare = node.Make(make_vif);
    floor_connect.push_back(Milliseconds([&] { floor.connect(node, bare); }));
    floor_disconnect.push_back(Milliseconds([&] { floor.disconnect(node, bare); }));
  }
  state.counters["connect"] = MedianOf(connect);
  state.counters["floor"] = MedianOf(floor_connect);
  state.counters["ratio"] = MedianOf(connect) / MedianOf(floor_connect);
  state.counters["disconnect"] = MedianOf(disconnect);
  state.counters["disc_floor"] = MedianOf(floor_disconnect);
  state.counters["disc_ratio"] = MedianOf(disconnect) / MedianOf(floor_disconnect);
}

void Options(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(60)->Unit(benchmark::kMillisecond)->Arg(0)->Arg(100)->Arg(500);
}

BENCHMARK_CAPTURE(
    Measure, Ovs, [](int n) -> vif::Vif { return test::OvsVif(n); }, OvsFloor())
    ->Apply(Options);
BENCHMARK_CAPTURE(
    Measure, Hybrid, [](int n) -> vif::Vif { return test::HybridVif(n); }, HybridFloor())
    ->Apply(Options);
BENCHMARK_CAPTURE(
    Measure, Bridge, [](int n) -> vif::Vif { return test::BridgeVif(n); }, BridgeFloor())
    ->Apply(Options);
BENCHMARK_CAPTURE(
    Measure, Macvlan, [](int n) -> vif::Vif { return test::MacvlanVif(n); }, MacvlanFloor())
    ->Apply(Options);

}  // namespace
}  // namespace kuryr::binding

BENCHMARK_MAIN();
