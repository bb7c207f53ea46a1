#include <benchmark/benchmark.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "watcher/event_parser.h"
#include "watcher/event_pipeline.h"

namespace kuryr::watcher {
namespace {

/// The events of a capture: a pod's life before it has a node (1.7 kB each), and a node's pods with
/// all that kubelet says of them (3.3 kB).
const char* const kCaptures[] = {"watch-life-no-rv.raw", "node-watch-all-pods.raw"};

std::vector<std::string> PodEvents(int64_t capture) {
  std::ifstream file(test::TestData() + "/apiserver-http/" + kCaptures[capture]);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('{') && line.size() > 1000) lines.push_back(line + "\n");
  }
  return lines;
}

void Count(benchmark::State& state, const std::vector<std::string>& lines) {
  size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  const auto rounds = static_cast<int64_t>(state.iterations());
  state.SetItemsProcessed(rounds * static_cast<int64_t>(lines.size()));
  state.SetBytesProcessed(rounds * static_cast<int64_t>(bytes));
}

class PodHandler : public ResourceEventHandler {
 public:
  PodHandler() : ResourceEventHandler("Pod") {}

 private:
  void OnPresent(const WatchEvent& event) override { benchmark::DoNotOptimize(event.object); }
};

/// Takes the bytes of a stream to a handler, as WatchStream does.
class Route {
 public:
  Route() { pipeline_.Register(handler_); }
  void Take(const std::string& line) {
    lines_.Feed(line, [this](std::string_view text) { pipeline_.Handle(parser_.Parse(text)); });
  }

 private:
  LineSplitter lines_;
  EventParser parser_;
  PodHandler handler_;
  EventPipeline pipeline_;
};

/// The baseline of the other benchmarks.
void BM_NlohmannParse(benchmark::State& state) {
  const auto lines = PodEvents(state.range(0));
  for (auto _ : state) {
    for (const std::string& line : lines) benchmark::DoNotOptimize(nlohmann::json::parse(line));
  }
  Count(state, lines);
}

void BM_DecodeAndDispatch(benchmark::State& state) {
  const auto lines = PodEvents(state.range(0));
  Route route;
  for (auto _ : state) {
    for (const std::string& line : lines) route.Take(line);
  }
  Count(state, lines);
}

double ResidentMebibytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// Measures the growth of the process between the first and the last of ten million events.
void BM_MemoryOfTenMillionEvents(benchmark::State& state) {
  const auto lines = PodEvents(0);
  Route route;
  for (const std::string& line : lines) route.Take(line);
  const double before = ResidentMebibytes();
  for (auto _ : state) {
    for (size_t i = 0; i < 10'000'000; ++i) route.Take(lines[i % lines.size()]);
  }
  state.counters["grown_MiB"] = ResidentMebibytes() - before;
  state.SetItemsProcessed(10'000'000);
}

BENCHMARK(BM_NlohmannParse)->DenseRange(0, 1);
BENCHMARK(BM_DecodeAndDispatch)->DenseRange(0, 1);
BENCHMARK(BM_MemoryOfTenMillionEvents)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace kuryr::watcher

BENCHMARK_MAIN();
