// A cluster full of pods: how fast kuryr-controller plans them beside a bare loop of the same
// PATCHes, both with as many connections, in turn, at a real API server; how long a pod waits for
// its plan; and what the controller takes of memory. controller_bench [PODS [ROUNDS [FILE
// [MANY]]]], default 1,000 and 7; FILE gets the results as JSON; MANY pods (100,000) show how the
// memory grows, and a fifth of them how a standby takes over. tests/bench/README.md says how it
// measures.

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "controller/leading.h"
#include "tests/controller/cluster.h"
#include "tests/support/kube_api_server.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/watcher/resident_bytes.h"
#include "watcher/api_client.h"

namespace kuryr::test {
namespace {

using controller::Config;
using controller::Leading;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kConnections = 8;
constexpr const char* kPods = "/api/v1/namespaces/default/pods";

/// Calls `action` for all numbers below `count`, in `kConnections` threads.
template <typename Action>
void InParallel(int count, const watcher::ApiConfig& api, const Action& action) {
  std::atomic<int> next = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kConnections; ++i) {
    threads.emplace_back([&] {
      watcher::ApiClient client(api);
      for (int number = next++; number < count; number = next++) action(client, number);
    });
  }
}

json PodNamed(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}}},
          {"spec", {{"nodeName", "node1"}, {"containers", {{{"name", "c"}, {"image", "none"}}}}}}};
}

std::vector<json> CreatePods(const std::string& prefix, int count, const watcher::ApiConfig& api) {
  std::vector<json> pods(static_cast<size_t>(count));
  InParallel(count, api, [&](watcher::ApiClient& client, int number) {
    pods[static_cast<size_t>(number)] =
        client.Post(kPods, PodNamed(prefix + std::to_string(number)));
  });
  return pods;
}

double CpuSeconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// The times at which pods were planned, as a watch tells them.
class Plans : public watcher::EventHandler {
 public:
  struct Moment {
    Clock::time_point at;
    double cpu_seconds;  ///< CPU time of this process until then
  };

  void Handle(const watcher::WatchEvent& event) override {
    if (event.type == watcher::EventType::kDeleted || !HasFinalizer(*event.object)) return;
    const Moment moment = {Clock::now(), CpuSeconds()};
    const MutexLock lock(mutex_);
    if (names_.insert(event.name).second) moments_.push_back(moment);
    if (moments_.size() == awaited_) changed_.notify_all();
  }
  /// Starts to wait for the plans of `count` pods.
  void Await(size_t count) {
    const MutexLock lock(mutex_);
    names_.clear();
    moments_.clear();
    awaited_ = count;
  }
  /// Waits until all are planned; returns their moments.
  std::vector<Moment> Wait() {
    const MutexLock lock(mutex_);
    const bool all = changed_.wait_for(mutex_, std::chrono::minutes(10), [&]() REQUIRES(mutex_) {
      return moments_.size() >= awaited_;
    });
    if (!all) throw std::runtime_error("not all pods were planned");
    return moments_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  size_t awaited_ GUARDED_BY(mutex_) = 0;
  std::set<std::string> names_ GUARDED_BY(mutex_);
  std::vector<Moment> moments_ GUARDED_BY(mutex_);
};

Config ConfigFor(const watcher::ApiConfig& api) {
  const std::string file = std::filesystem::temp_directory_path() / "kuryr-controller-bench.conf";
  std::ofstream(file) << "[pool:pods]\ncidr = 10.0.0.0/8\nnamespaces = *\n";
  Config config = controller::LoadConfig({file}, [](const char*) { return nullptr; });
  std::filesystem::remove(file);
  config.api.api = api;
  return config;
}

/// A controller, and a watch of its plans.
struct Planner {
  explicit Planner(const watcher::ApiConfig& api)
      : config(ConfigFor(api)), watcher(api, plans), informer(config) {
    watcher.Add(kPods, watcher::WatchMode::kSet);
    watcher.Start();
  }
  void Start() {
    leading = std::make_unique<Leading>(Leading::Parts{config, reporter, metrics, informer},
                                        controller::SinkKind::kPodState, [] { return true; });
  }

  const Config config;
  controller::Reporter reporter{false};
  controller::RoundMetrics metrics;
  Plans plans;
  watcher::Watcher watcher;
  controller::Informer informer;
  std::unique_ptr<Leading> leading;
};

std::vector<std::string> AnnotationsOf(const std::vector<json>& pods, watcher::ApiClient& client) {
  std::vector<std::string> annotations;
  for (const json& pod : pods) {
    const json now =
        client.Get(std::string(kPods) + "/" + pod.at("metadata").at("name").get<std::string>());
    annotations.push_back(now.at("metadata").at("annotations").at("openstack.org/kuryr-vif"));
  }
  return annotations;
}

/// Sends the requests that the controller sends.
void BareLoop(const std::vector<json>& pods, const std::vector<std::string>& annotations,
              const watcher::ApiConfig& api) {
  InParallel(static_cast<int>(pods.size()), api, [&](watcher::ApiClient& client, int number) {
    const auto index = static_cast<size_t>(number);
    const json& metadata = pods[index].at("metadata");
    client.PatchText(std::string(kPods) + "/" + metadata.at("name").get<std::string>(),
                     watcher::PatchType::kMerge,
                     {{"metadata",
                       {{"uid", metadata.at("uid")},
                        {"resourceVersion", metadata.at("resourceVersion")},
                        {"finalizers", {controller::kPodFinalizer}},
                        {"annotations", {{"openstack.org/kuryr-vif", annotations[index]}}}}}});
  });
}

double Percentile(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  return values.at(static_cast<size_t>(static_cast<double>(values.size() - 1) * percent / 100));
}

struct Rate {
  double pods;    ///< pods a second, from the first plan to the last
  double cpu_ms;  ///< CPU time of this process for a pod
};

/// The rate of the plans that `begin` causes. Its start, and the list of pods that it begins with,
/// do not count.
template <typename Begin>
Rate RateOf(Plans& plans, size_t count, const Begin& begin) {
  plans.Await(count);
  begin();
  const std::vector<Plans::Moment> moments = plans.Wait();
  const Plans::Moment& first = moments.front();
  const Plans::Moment& last = moments.back();
  const auto others = static_cast<double>(count - 1);
  return {.pods = others / std::chrono::duration<double>(last.at - first.at).count(),
          .cpu_ms = (last.cpu_seconds - first.cpu_seconds) * 1e3 / others};
}

void RemovePods(const std::vector<json>& pods, const watcher::ApiConfig& api) {
  InParallel(static_cast<int>(pods.size()), api, [&](watcher::ApiClient& client, int number) {
    const json& metadata = pods[static_cast<size_t>(number)].at("metadata");
    const std::string path = std::string(kPods) + "/" + metadata.at("name").get<std::string>();
    client.Patch(path, watcher::PatchType::kMerge, {{"metadata", {{"finalizers", nullptr}}}});
    client.Delete(path + "?gracePeriodSeconds=0");
  });
}

/// Measures the controller and the bare loop, which take turns at being first. Each run has only
/// its own pods in the cluster.
class Contest {
 public:
  Contest(int count, const watcher::ApiConfig& api) : count_(count), api_(api), planner_(api) {
    watcher::ApiClient client(api_);
    (void)Ours([&](const std::vector<json>& pods) { annotations_ = AnnotationsOf(pods, client); });
  }

  Rate Ours(const std::function<void(const std::vector<json>& pods)>& look = {}) {
    const std::vector<json> pods = CreatePods("ours-", count_, api_);
    const Rate rate = RateOf(planner_.plans, pods.size(), [this] { planner_.Start(); });
    planner_.leading.reset();
    if (look) look(pods);
    RemovePods(pods, api_);
    return rate;
  }
  Rate Bare() {
    const std::vector<json> pods = CreatePods("bare-", count_, api_);
    const Rate rate =
        RateOf(planner_.plans, pods.size(), [&] { BareLoop(pods, annotations_, api_); });
    RemovePods(pods, api_);
    return rate;
  }

 private:
  const int count_;
  const watcher::ApiConfig api_;
  Planner planner_;
  std::vector<std::string> annotations_;  ///< the annotations that the controller wrote
};

json Throughput(int count, int rounds, const watcher::ApiConfig& api) {
  std::printf("%-8s %14s %14s %8s %20s %20s\n", "round", "bare [pods/s]", "ours [pods/s]", "ratio",
              "bare CPU [ms/pod]", "ours CPU [ms/pod]");
  Contest contest(count, api);
  std::vector<double> bare_rates;
  std::vector<double> our_rates;
  json singles = json::array();
  for (int round = 0; round < rounds; ++round) {
    Rate bare{};
    if (round % 2 == 0) bare = contest.Bare();
    const Rate ours = contest.Ours();
    if (round % 2 != 0) bare = contest.Bare();
    std::printf("%-8d %14.0f %14.0f %8.2f %20.2f %20.2f\n", round, bare.pods, ours.pods,
                ours.pods / bare.pods, bare.cpu_ms, ours.cpu_ms);
    bare_rates.push_back(bare.pods);
    our_rates.push_back(ours.pods);
    singles.push_back({{"bare", bare.pods},
                       {"ours", ours.pods},
                       {"bare_cpu_ms", bare.cpu_ms},
                       {"ours_cpu_ms", ours.cpu_ms}});
  }
  const double bare = Percentile(bare_rates, 50);
  const double ours = Percentile(our_rates, 50);
  std::printf("%-8s %14.0f %14.0f %8.2f\n", "median", bare, ours, ours / bare);
  return {{"pods", count}, {"bare", bare}, {"ours", ours}, {"rounds", singles}};
}

/// Measures the time from the answer to a pod's creation to its plan, with a leader.
json Latency(int count, const watcher::ApiConfig& api) {
  Planner planner(api);
  planner.Start();
  watcher::ApiClient client(api);
  std::vector<double> times;
  for (int number = 0; number < count; ++number) {
    planner.plans.Await(1);
    client.Post(kPods, PodNamed("one-" + std::to_string(number)));
    const auto created = Clock::now();
    const std::chrono::duration<double, std::milli> time =
        planner.plans.Wait().front().at - created;
    times.push_back(time.count());
  }
  std::printf("from created to planned, one at a time: p50 %.1f ms, p99 %.1f ms\n",
              Percentile(times, 50), Percentile(times, 99));
  return {{"p50_ms", Percentile(times, 50)}, {"p99_ms", Percentile(times, 99)}};
}

/// A fake API server in a process of its own, with pods. The pods leave no memory in this process,
/// which later steps could reuse.
struct FakeCluster {
  explicit FakeCluster(int count) : server({.argv = {test::BinDir() + "/fake-apiserver"}}) {
    server.WaitForOutput("\n");
    api.api_root = server.output().substr(0, server.output().find('\n'));
    InParallel(count, api, [](watcher::ApiClient& client, int number) {
      client.Post(kPods, PodNamed("pod-" + std::to_string(number)));
    });
    ::malloc_trim(0);
  }

  Process server;
  watcher::ApiConfig api;
};

/// Measures the time from the won Lease to the first plan, with so many planned pods.
json Takeover(int count) {
  const FakeCluster cluster(count);
  {
    Planner first(cluster.api);
    first.plans.Await(static_cast<size_t>(count));
    first.Start();
    (void)first.plans.Wait();
  }
  watcher::ApiClient client(cluster.api);
  json result = {{"pods", count}};
  for (int round = 0; round < 6; ++round) {
    const bool warm = round % 2 != 0;
    const std::string name = "next-" + std::to_string(round);
    client.Post(kPods, PodNamed(name));
    Planner planner(cluster.api);
    if (warm) planner.informer.Start();
    while (warm && !planner.informer.IsWarm())
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto won = Clock::now();
    planner.Start();
    while (!HasFinalizer(client.Get(std::string(kPods) + "/" + name)))
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::chrono::duration<double> took = Clock::now() - won;
    std::printf("%d pods, %s: first plan after %.2f s\n", count, warm ? "warm" : "cold",
                took.count());
    result[warm ? "warm_s" : "cold_s"].push_back(took.count());
  }
  return result;
}

/// Measures the memory of this process; the API server is another process.
json Memory(int count) {
  const FakeCluster cluster(count);
  const watcher::ApiConfig& api = cluster.api;
  const Config config = ConfigFor(api);
  controller::Reporter reporter(false);
  controller::RoundMetrics metrics;
  const size_t before = watcher::ResidentBytes();
  controller::Informer informer(config);
  Leading leading({config, reporter, metrics, informer}, controller::SinkKind::kPodState,
                  [] { return true; });
  const std::string all =
      "kuryr_controller_pods{state=\"planned\"} " + std::to_string(count) + "\n";
  for (std::string text; text.find(all) == std::string::npos;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    service::MetricsText written;
    leading.WriteTo(written);
    text = written.text();
  }
  const double bytes = static_cast<double>(watcher::ResidentBytes() - before);
  std::printf("%d pods: %.1f MiB more, %.0f bytes a pod\n", count, bytes / (1 << 20),
              bytes / count);
  return {{"pods", count}, {"mib", bytes / (1 << 20)}, {"bytes_of_pod", bytes / count}};
}

}  // namespace
}  // namespace kuryr::test

int main(int argc, char** argv) {
  using namespace kuryr::test;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  std::signal(SIGPIPE, SIG_IGN);
  const int pods = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  const int many = argc > 4 ? std::atoi(argv[4]) : 100'000;
  try {
    if (const auto why = KubeApiServer::Unavailable()) throw std::runtime_error(*why);
    const KubeApiServer server;
    const kuryr::watcher::ApiConfig api = {.api_root = server.url(),
                                           .ca = {.file = server.ca_file()},
                                           .token = {.file = server.token_file()}};
    nlohmann::json results;
    results["throughput"] = Throughput(pods, rounds, api);
    results["latency"] = Latency(std::min(pods, 200), api);
    results["takeover"] = Takeover(many / 5);
    for (const int count : {many / 100, many}) results["memory"].push_back(Memory(count));
    if (argc > 3) std::ofstream(argv[3]) << results.dump(2) << "\n";
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "controller_bench: %s\n", e.what());
    return 1;
  }
}
