#include <benchmark/benchmark.h>
#include <malloc.h>

#include <string>
#include <vector>

#include "controller/backends/pools/pool_backend.h"

namespace kuryr::controller::pools {
namespace {

Pool WidePool(const std::vector<const char*>& cidrs) {
  Pool pool{.name = "pods", .bridge = "br-int", .is_default = true};
  for (const char* text : cidrs) {
    const IpNetwork cidr = IpNetwork::Parse(text).value();
    pool.subnets.push_back(MakePoolSubnet(cidr, DefaultGateway(cidr), {}, {}));
  }
  return pool;
}

/// A request with texts as long as in a cluster.
PlanRequest RequestOf(int64_t number) {
  const std::string digits = std::to_string(1'000'000 + number);
  return {.owner = {.id = "0b5c7e62-9d0d-4a5c-8f6e-00000" + digits,
                    .scope = "namespace-" + std::to_string(number % 200),
                    .name = "deployment-7d4b9c6f5-" + digits,
                    .node = "worker-" + std::to_string(number % 5000)},
          .interfaces = {{.ifname = "eth0", .is_default = true}}};
}

size_t HeapInUse() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

void Fill(PoolBackend& backend, int64_t owners) {
  for (int64_t i = 0; i < owners; ++i) (void)backend.Reserve(RequestOf(i));
}

/// Measures the bytes per owner that a backend keeps, and the time to fill it.
void Keep(benchmark::State& state, const std::vector<const char*>& cidrs) {
  double bytes = 0;
  for (auto _ : state) {
    const size_t before = HeapInUse();
    PoolBackend backend({WidePool(cidrs)});
    Fill(backend, state.range(0));
    bytes = static_cast<double>(HeapInUse() - before) / static_cast<double>(state.range(0));
  }
  state.counters["bytes_per_owner"] = bytes;
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// Adds one pod to many; it is released at once, so that their number stays.
void BM_ReserveAndRelease(benchmark::State& state) {
  PoolBackend backend({WidePool({"10.0.0.0/8"})});
  Fill(backend, state.range(0));
  int64_t next = state.range(0);
  for (auto _ : state) {
    const PlanRequest request = RequestOf(next++);
    benchmark::DoNotOptimize(backend.Reserve(request));
    backend.Release(request.owner.id);
  }
}

void BM_ReserveAgain(benchmark::State& state) {
  PoolBackend backend({WidePool({"10.0.0.0/8"})});
  Fill(backend, state.range(0));
  const PlanRequest request = RequestOf(state.range(0) / 2);
  for (auto _ : state) benchmark::DoNotOptimize(backend.Reserve(request));
}

/// Measures a start: each object once, in another order than that of addresses.
void BM_Adopt(benchmark::State& state) {
  const auto count = state.range(0);
  std::vector<std::vector<vif::PodVif>> written;
  PoolBackend former({WidePool({"10.0.0.0/8"})});
  for (int64_t i = 0; i < count; ++i)
    written.push_back(*former.Reserve(RequestOf(i * 7919 % count)));
  for (auto _ : state) {
    PoolBackend backend({WidePool({"10.0.0.0/8"})});
    for (int64_t i = 0; i < count; ++i)
      backend.Adopt(RequestOf(i * 7919 % count).owner, written[static_cast<size_t>(i)]);
  }
  state.SetItemsProcessed(state.iterations() * count);
}

BENCHMARK_CAPTURE(Keep, ipv4, {"10.0.0.0/8"})
    ->Arg(1'000)
    ->Arg(500'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Keep, both, {"10.0.0.0/8", "fd00::/64"})
    ->Arg(500'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReserveAndRelease)->Arg(1'000)->Arg(500'000);
BENCHMARK(BM_ReserveAgain)->Arg(500'000);
BENCHMARK(BM_Adopt)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kuryr::controller::pools

BENCHMARK_MAIN();
