// The cost of an ADD and a DEL, side by side with their floor: the same netlink requests and OVSDB
// transaction in one process that does nothing else. Times are wall clock of the whole; the node is
// the tests' own (plugin_fixture.h).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "tests/bench/plugin_node.h"
#include "vif/vif.h"

namespace kuryr::test {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Adds pods before the measurement; at least one, which makes br-int.
std::vector<TestPod> Populate(PluginNode& node, int64_t count) {
  std::vector<TestPod> pods;
  for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i) {
    pods.push_back(node.ActivePod());
    if (node.Run("ADD", pods.back()).status != 0) throw std::runtime_error("ADD failed");
  }
  return pods;
}

enum class Served { kAlone, kByAgent };

void Measure(benchmark::State& state, const std::string& measured, Served served) {
  PluginNode node;
  if (served == Served::kByAgent) node.StartAgent();
  const auto present = Populate(node, state.range(0));
  for (auto _ : state) {
    const TestPod pod = node.ActivePod();
    for (const std::string command : {"ADD", "DEL"}) {
      // ovs-vswitchd works on a removal for a while after the DEL; the next ADD would wait for it.
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

/// Measures the start of the program, reading its input, and answering.
void PluginVersion(benchmark::State& state) {
  PluginNode node;
  const TestPod pod = node.ActivePod();
  for (auto _ : state) {
    const auto start = Clock::now();
    (void)node.Run("VERSION", pod);
    state.SetIterationTime(Seconds(Clock::now() - start));
  }
}

void MeasureFloor(benchmark::State& state, bool add) {
  PluginNode node;
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
// The argument is the number of pods on the node.
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
