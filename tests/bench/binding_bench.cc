// The cost of each driver's Connect and Disconnect, side by side with their floor (driver_floor.h),
// in the process, layer 3 included; with 0 and more pods of the same driver on the node. Counters
// are medians in milliseconds; those of ovs-vswitchd's wake-ups are means of numbers.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "tests/bench/bench_devices.h"
#include "tests/bench/bench_node.h"
#include "tests/bench/driver_floor.h"
#include "tests/binding/vifs.h"
#include "tests/support/route_monitor.h"

namespace kuryr::binding {
namespace {

using Clock = std::chrono::steady_clock;

struct Subject {
  MakeVif vif = nullptr;
  Floor floor;
  MakeDevices devices = nullptr;
  bool one_device = false;  ///< other pods exist in name only
  bool needs_vlans = false;
  /// ovs-vswitchd reads all links of the node whenever any link changes. Meanwhile other processes
  /// wait for the kernel's lock.
  bool needs_ovs = true;
};

double Milliseconds(const std::function<void()>& action) {
  const auto start = Clock::now();
  action();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double MedianOf(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

/// Measures driver and floor in turn, so that both see the same node. The second begins the next
/// round: the kernel removes a round's namespaces during the next.
void MeasureOn(BenchNode& node, benchmark::State& state, const Subject& subject) {
  std::vector<double> connect;
  std::vector<double> disconnect;
  std::vector<double> floor_connect;
  std::vector<double> floor_disconnect;
  bool driver = true;
  for (auto _ : state) {
    const BenchPod first = node.Make(subject.vif);
    const BenchPod second = node.Make(subject.vif);
    for (const BenchPod* pod : {&first, &second}) {
      if (driver) {
        connect.push_back(Milliseconds([&] { node.Connect(*pod); }));
        disconnect.push_back(Milliseconds([&] { node.Disconnect(*pod); }));
      } else {
        floor_connect.push_back(Milliseconds([&] { subject.floor.connect(node, *pod); }));
        floor_disconnect.push_back(Milliseconds([&] { subject.floor.disconnect(node, *pod); }));
      }
      driver = !driver;
    }
    driver = !driver;
  }
  state.counters["connect"] = MedianOf(connect);
  state.counters["floor"] = MedianOf(floor_connect);
  state.counters["ratio"] = MedianOf(connect) / MedianOf(floor_connect);
  state.counters["disconnect"] = MedianOf(disconnect);
  state.counters["disc_floor"] = MedianOf(floor_disconnect);
  state.counters["disc_ratio"] = MedianOf(disconnect) / MedianOf(floor_disconnect);
}

/// The wake-ups of ovs-vswitchd and its work for one act; means.
struct WakeUps {
  double notices = 0;  ///< notices of links, addresses and routes of the host
  double reconfigurations = 0;

  void Add(BenchNode& node, const std::function<void()>& act) {
    const long before = node.CountReconfigurations();
    test::RouteMonitor host;
    act();
    const long after = node.CountReconfigurations();
    const auto heard = host.Until([](const auto&) { return true; });
    notices += static_cast<double>(heard.size()) / kRounds;
    reconfigurations += static_cast<double>(after - before) / kRounds;
  }

  static constexpr int kRounds = 10;
};

void CountWakeUps(BenchNode& node, benchmark::State& state, const Subject& subject) {
  WakeUps connect;
  WakeUps disconnect;
  for (int round = 0; round < WakeUps::kRounds; ++round) {
    const BenchPod pod = node.Make(subject.vif);
    connect.Add(node, [&] { node.Connect(pod); });
    disconnect.Add(node, [&] { node.Disconnect(pod); });
  }
  state.counters["notices"] = connect.notices;
  state.counters["reconf"] = connect.reconfigurations;
  state.counters["disc_notices"] = disconnect.notices;
  state.counters["disc_reconf"] = disconnect.reconfigurations;
}

void Measure(benchmark::State& state, const Subject& subject) {
  const int pods = static_cast<int>(state.range(0));
  try {
    BenchNode node(subject.devices, pods);
    if (subject.needs_vlans && !BenchNode::CanMakeVlans("uplink"))
      return state.SkipWithError("the kernel has no 802.1Q; tests/bench/run --kernel has");
    if (!subject.needs_ovs) node.StopOvs();
    std::vector<BenchPod> present;
    for (int n = 0; n < pods && !subject.one_device; ++n)
      node.Connect(present.emplace_back(node.Make(subject.vif)));
    MeasureOn(node, state, subject);
    CountWakeUps(node, state, subject);
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
  }
}

void Options(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(60)->Unit(benchmark::kMillisecond)->Arg(0)->Arg(100)->Arg(500);
}

vif::Vif SriovVif() {
  auto vif = test::VifOf<vif::VifSriov>(1, "sriov");
  vif.vlan_name = std::string();
  return vif;
}

vif::Vif HostDeviceVif() {
  vif::VifHostDevice vif;
  static_cast<vif::VifBase&>(vif) = test::OvsVif(1);
  vif.dev_type = vif::HostDeviceType::kEthernet;
  return vif;
}

template <auto make, auto... arguments>
vif::Vif VifFrom() {
  return make(1, arguments...);
}

template <vif::VHostUserMode mode>
vif::Vif VhostUserVif() {
  return test::VhostUserVif(1, mode);
}

#define MEASURE(name, ...) BENCHMARK_CAPTURE(Measure, name, Subject{__VA_ARGS__})->Apply(Options)

MEASURE(Ovs, .vif = VifFrom<test::OvsVif>, .floor = OvsFloor());
MEASURE(Hybrid, .vif = VifFrom<test::HybridVif>, .floor = HybridFloor());
MEASURE(Bridge, .vif = VifFrom<test::BridgeVif>, .floor = BridgeFloor(), .needs_ovs = false);
MEASURE(Macvlan, .vif = VifFrom<test::MacvlanVif>, .floor = MacvlanFloor(), .needs_ovs = false);
MEASURE(Vlan, .vif = VifFrom<test::VlanVif, uint16_t{1}>, .floor = VlanFloor(), .needs_vlans = true,
        .needs_ovs = false);
MEASURE(Sriov, .vif = SriovVif, .floor = SriovFloor(), .devices = MakeCard, .needs_ovs = false);
MEASURE(HostDevice, .vif = HostDeviceVif, .floor = HostDeviceFloor(), .devices = MakeSwitchCard);
MEASURE(Dpdk, .vif = VifFrom<test::DpdkVif>, .floor = DpdkFloor(), .devices = MakePciDevice,
        .one_device = true, .needs_ovs = false);
MEASURE(VhostUserClient, .vif = VhostUserVif<vif::VHostUserMode::kClient>,
        .floor = VhostUserClientFloor(), .devices = MakeVhostUserFolders);
MEASURE(VhostUserServer, .vif = VhostUserVif<vif::VHostUserMode::kServer>,
        .floor = VhostUserServerFloor(), .devices = MakeVhostUserFolders);

}  // namespace
}  // namespace kuryr::binding

BENCHMARK_MAIN();
