#include <benchmark/benchmark.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/json.h"
#include "tests/support/paths.h"
#include "vif/pod_vifs.h"

namespace kuryr::vif {
namespace {

std::string Read(const std::string& name) {
  std::ifstream file(test::TestData() + "/vif-samples/annotation/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const char* const kSamples[] = {"2016-queens-single-vif.min.json",
                                "rocky-podstate-default-only-REAL-inactive.min.json",
                                "rocky-podstate-additional-vifs.min.json"};

/// The baseline of the other benchmarks.
void BM_NlohmannParse(benchmark::State& state) {
  const std::string text = Read(kSamples[state.range(0)]);
  for (auto _ : state) benchmark::DoNotOptimize(nlohmann::json::parse(text));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

void BM_ParseJson(benchmark::State& state) {
  const std::string text = Read(kSamples[state.range(0)]);
  for (auto _ : state) benchmark::DoNotOptimize(ParseJson(text));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

void BM_DecodeAnnotation(benchmark::State& state) {
  const std::string text = Read(kSamples[state.range(0)]);
  for (auto _ : state) benchmark::DoNotOptimize(DecodeAnnotation(text));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

void BM_EncodeAnnotation(benchmark::State& state) {
  const auto vifs = DecodeAnnotation(Read(kSamples[state.range(0)]));
  for (auto _ : state) benchmark::DoNotOptimize(EncodeAnnotation(vifs));
}

BENCHMARK(BM_NlohmannParse)->DenseRange(0, 2);
BENCHMARK(BM_ParseJson)->DenseRange(0, 2);
BENCHMARK(BM_DecodeAnnotation)->DenseRange(0, 2);
BENCHMARK(BM_EncodeAnnotation)->DenseRange(0, 2);

}  // namespace
}  // namespace kuryr::vif

BENCHMARK_MAIN();
