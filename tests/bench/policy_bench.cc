// NetworkPolicies of a big cluster: 10,000 pods and 500 policies by default. What the compiler
// needs for an event, and what it takes until OVN's northbound database has it.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/controller/backends/ovn/policed_cluster.h"
#include "tests/policy/big_cluster.h"
#include "tests/support/subprocess.h"
#include "tests/watcher/resident_bytes.h"

namespace kuryr::controller {
namespace {

/// 500 policies, of 10,000 pods; or 10 of 10,000 pods of one namespace.
const policy::BigCluster kWide{.namespaces = 50, .pods_of_each = 200};
const policy::BigCluster kDeep{.namespaces = 1, .pods_of_each = 10'000};

std::unique_ptr<policy::PolicyCompiler> Compiled(const policy::BigCluster& size) {
  auto compiler = std::make_unique<policy::PolicyCompiler>();
  size.Fill(*compiler,
            [](const policy::PolicyChanges& changes) { benchmark::DoNotOptimize(changes); });
  return compiler;
}

void BM_CompileNewPod(benchmark::State& state) {
  const auto compiler = Compiled(kWide);
  for (auto _ : state) {
    benchmark::DoNotOptimize(compiler->SetPod(policy::BigCluster::Pod(0, kWide.pods_of_each)));
    state.PauseTiming();
    compiler->RemovePod(policy::BigCluster::UidOf(0, kWide.pods_of_each));
    state.ResumeTiming();
  }
}

void BM_CompileRelabelledNamespace(benchmark::State& state) {
  const auto compiler = Compiled(kDeep);
  for (size_t team = 1; auto _ : state) {
    benchmark::DoNotOptimize(
        compiler->SetNamespace(policy::BigCluster::NameOf(0), policy::BigCluster::TeamOf(team++)));
  }
}

void BM_CompileAll(benchmark::State& state) {
  for (auto _ : state) {
    const size_t before = ::mallinfo2().uordblks;
    const auto compiler = Compiled(kWide);
    state.counters["bytes"] = static_cast<double>(::mallinfo2().uordblks - before);
  }
}

/// An ovsdb-server with an empty northbound database.
class Server {
 public:
  Server() {
    std::filesystem::create_directory(folder_);
    const std::string database = folder_ + "/nb.db";
    const auto made = test::RunProgram(
        {.argv = {"ovsdb-tool", "create", database, "/usr/share/ovn/ovn-nb.ovsschema"}});
    if (made.status != 0) throw std::runtime_error(made.err);
    process_.emplace(test::Command{.argv = {"ovsdb-server", database, "--remote=p" + remote(),
                                            "--unixctl=" + folder_ + "/ctl", "-vconsole:info"}});
    process_->WaitForOutput("ovsdb-server (Open vSwitch)");
  }
  ~Server() {
    process_.reset();
    std::filesystem::remove_all(folder_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::string remote() const { return "unix:" + folder_ + "/nb.sock"; }

 private:
  const std::string folder_ = (std::filesystem::temp_directory_path() /
                               ("kuryr-policy-bench-" + std::to_string(::getpid())))
                                  .string();
  std::optional<test::Process> process_;
};

/// Measures changes of a planned cluster, each until the database has it.
template <typename Change>
void Write(benchmark::State& state, const policy::BigCluster& size, const Change& change) {
  const Server server;
  ::malloc_trim(0);
  const size_t before = watcher::ResidentBytes();
  ovn::PolicedCluster cluster(ovn::PolicedObjects(size), server.remote());
  cluster.ReplaceController();
  cluster.Plan();
  cluster.SettleAll();
  state.counters["resident_bytes"] = static_cast<double>(watcher::ResidentBytes() - before);
  const char* const kTransactions = "kuryr_controller_ovn_transactions_total";
  const uint64_t transactions = cluster.Figure(kTransactions);
  size_t number = 0;
  for (auto _ : state) {
    change(cluster, ++number);
    cluster.SettleChanged();
  }
  state.counters["transactions"] =
      benchmark::Counter(static_cast<double>(cluster.Figure(kTransactions) - transactions),
                         benchmark::Counter::kAvgIterations);
}

void BM_WriteRelabelledPod(benchmark::State& state) {
  Write(state, kWide, [](ovn::PolicedCluster& cluster, size_t number) {
    cluster.Relabel(number % kWide.namespaces, 0, 1 + number / kWide.namespaces);
  });
}

void BM_WriteRelabelledNamespace(benchmark::State& state) {
  Write(state, kDeep,
        [](ovn::PolicedCluster& cluster, size_t number) { cluster.MoveTo(0, number); });
}

BENCHMARK(BM_CompileNewPod)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_CompileRelabelledNamespace)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CompileAll)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(BM_WriteRelabelledPod)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(BM_WriteRelabelledNamespace)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace kuryr::controller

BENCHMARK_MAIN();
