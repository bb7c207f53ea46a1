// What an ADD and a DEL cost, side by side with their floor: the same netlink requests and OVSDB
// transaction in one process that does nothing else. Times are wall clock of the whole; the node is
// the tests' own (plugin_fixture.h).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "binding/l3.h"
#include "binding/netlink/route_socket.h"
#include "binding/ovs/open_vswitch.h"
#include "tests/cni/plugin/plugin_fixture.h"
#include "vif/vif.h"

namespace kuryr::test {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

class Node : public PluginTest {
 public:
  Node() { SetUp(); }
  ~Node() override { TearDown(); }
  void TestBody() override {}

  using PluginTest::Annotate;
  using PluginTest::MakePod;
  using PluginTest::Run;
  using PluginTest::StartAgent;
  using PluginTest::Vif;
  using PluginTest::work_;

  [[nodiscard]] std::string Remote() const { return ovs_->remote(); }
  TestPod ActivePod() {
    TestPod pod = MakePod("pod" + std::to_string(pods_made_));
    Annotate(pod, Vif(pod, true));
    return pod;
  }
};

/// Pods that are on the node before anything is measured; at least one, with which br-int is made.
std::vector<TestPod> Populate(Node& node, int64_t count) {
  std::vector<TestPod> pods;
  for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i) {
    pods.push_back(node.ActivePod());
    if (node.Run("ADD", pods.back()).status != 0) throw std::runtime_error("ADD failed");
  }
  return pods;
}

enum class Served { kAlone, kByAgent };

void Measure(benchmark::State& state, const std::string& measured, Served served) {
  Node node;
  if (served == Served::kByAgent) node.StartAgent();
  const auto present = Populate(node, state.range(0));
  for (auto _ : state) {
    const TestPod pod = node.ActivePod();
    for (const std::string command : {"ADD", "DEL"}) {
      // ovs-vswitchd digests a removal for a while after the DEL; the next ADD would wait for it.
      if (command == "DEL" && measured == "ADD") break;
      const auto start = Clock::now();
      const ProcessResult result = node.Run(command, pod);
      if (command == measured) state.SetIterationTime(Seconds(Clock::now() - start));
      if (result.status != 0) state.SkipWithError(result.out.c_str());
    }
  }
}

void PluginAdd(benchmark::State& state) { Measure(state, "ADD", Served::kAlone); }
void PluginDel(benchmark::State& state) { Measure(state, "DEL", Served::kAlone); }
void AgentAdd(benchmark::State& state) { Measure(state, "ADD", Served::kByAgent); }
void AgentDel(benchmark::State& state) { Measure(state, "DEL", Served::kByAgent); }

/// Starting the program, reading its input, answering.
void PluginVersion(benchmark::State& state) {
  Node node;
  const TestPod pod = node.ActivePod();
  for (auto _ : state) {
    const auto start = Clock::now();
    (void)node.Run("VERSION", pod);
    state.SetIterationTime(Seconds(Clock::now() - start));
  }
}

binding::OvsPort PortOf(const TestPod& pod) {
  return {.name = pod.tap,
          .bridge = "br-int",
          .external_ids = {{"iface-id", pod.port_id},
                           {binding::OpenVSwitch::kContainerId, pod.container_id}},
          .datapath_type = PrivateOvs::datapath_type()};
}

void BareAdd(Node& node, const TestPod& pod, const vif::Vif& vif) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  const binding::Netns netns = binding::Netns::Open(pod.netns);
  binding::RouteSocket host;
  host.CreateVeth({.name = pod.tap,
                   .peer_name = "eth0",
                   .peer_netns_fd = netns.fd(),
                   .peer_mac = MacAddress::Parse(pod.mac),
                   .mtu = 1500});
  host.SetUp(*host.FindLink(pod.tap));
  binding::OpenVSwitch ovs(node.Remote());
  const auto added = std::get<binding::AddedPort>(ovs.AddPort(PortOf(pod), deadline));
  binding::RouteSocket inside = binding::RouteSocket::OpenIn(netns);
  inside.SetUp(*inside.FindLink("eth0"));
  binding::ConfigureL3(netns, "eth0", vif::Common(vif), true);
  ovs.WaitUntilUp(PortOf(pod), added, deadline);
}

void BareDel(Node& node, const TestPod& pod) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  binding::OpenVSwitch ovs(node.Remote());
  ovs.DeletePort(pod.tap, {{binding::OpenVSwitch::kContainerId, pod.container_id}}, deadline);
  binding::RouteSocket().DeleteLink(pod.tap);
}

void MeasureFloor(benchmark::State& state, bool add) {
  Node node;
  const auto present = Populate(node, state.range(0));
  for (auto _ : state) {
    const TestPod pod = node.ActivePod();
    const vif::Vif vif = vif::DecodeVif(node.Vif(pod, true));
    const auto start = Clock::now();
    BareAdd(node, pod, vif);
    const auto middle = Clock::now();
    if (!add) BareDel(node, pod);
    state.SetIterationTime(Seconds(add ? middle - start : Clock::now() - middle));
  }
}

void FloorAdd(benchmark::State& state) { MeasureFloor(state, true); }
void FloorDel(benchmark::State& state) { MeasureFloor(state, false); }

BENCHMARK(PluginVersion)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(100);
// By the number of pods on the node.
#define KURYR_BENCHMARK(measure)      \
  BENCHMARK(measure)                  \
      ->UseManualTime()               \
      ->Unit(benchmark::kMillisecond) \
      ->Iterations(50)                \
      ->Arg(1)                        \
      ->Arg(100)
KURYR_BENCHMARK(FloorAdd);
KURYR_BENCHMARK(PluginAdd);
KURYR_BENCHMARK(AgentAdd);
KURYR_BENCHMARK(FloorDel);
KURYR_BENCHMARK(PluginDel);
KURYR_BENCHMARK(AgentDel);

}  // namespace
}  // namespace kuryr::test

BENCHMARK_MAIN();
