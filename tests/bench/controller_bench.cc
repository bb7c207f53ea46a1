// A cluster full of pods: how fast kuryr-controller plans them beside a bare loop of the same
// PATCHes, both with as many connections, in turn, at a real API server; how long a pod waits for
// its plan; and what the controller takes of memory. controller_bench [PODS [ROUNDS]], default
// 1,000 and 3.

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "controller/leading.h"
#include "tests/controller/cluster.h"
#include "tests/support/kube_api_server.h"
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

/// What each of `kConnections` threads does with the numbers below `count` that it gets.
template <typename Action>
double SecondsOf(int count, const watcher::ApiConfig& api, const Action& action) {
  std::atomic<int> next = 0;
  const auto start = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kConnections; ++i) {
      threads.emplace_back([&] {
        watcher::ApiClient client(api);
        for (int number = next++; number < count; number = next++) action(client, number);
      });
    }
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

json PodNamed(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}}},
          {"spec", {{"nodeName", "node1"}, {"containers", {{{"name", "c"}, {"image", "none"}}}}}}};
}

std::vector<json> CreatePods(const std::string& prefix, int count, const watcher::ApiConfig& api) {
  std::vector<json> pods(static_cast<size_t>(count));
  SecondsOf(count, api, [&](watcher::ApiClient& client, int number) {
    pods[static_cast<size_t>(number)] =
        client.Post(kPods, PodNamed(prefix + std::to_string(number)));
  });
  return pods;
}

/// When each pod was planned, as a watch tells it.
class Plans : public watcher::EventHandler {
 public:
  void Handle(const watcher::WatchEvent& event) override {
    if (!HasFinalizer(*event.object)) return;
    const MutexLock lock(mutex_);
    if (planned_.emplace(event.name, Clock::now()).second) changed_.notify_all();
  }
  void WaitFor(size_t count) {
    const MutexLock lock(mutex_);
    const bool all = changed_.wait_for(mutex_, std::chrono::minutes(10),
                                       [&]() REQUIRES(mutex_) { return planned_.size() >= count; });
    if (!all) throw std::runtime_error("not all pods were planned");
  }
  std::map<std::string, Clock::time_point> planned() {
    const MutexLock lock(mutex_);
    return planned_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Clock::time_point> planned_ GUARDED_BY(mutex_);
};

Config ConfigFor(const watcher::ApiConfig& api) {
  const std::string file = std::filesystem::temp_directory_path() / "kuryr-controller-bench.conf";
  std::ofstream(file) << "[pool:pods]\ncidr = 10.0.0.0/8\nnamespaces = *\n";
  Config config = controller::LoadConfig({file}, [](const char*) { return nullptr; });
  std::filesystem::remove(file);
  config.api.api = api;
  return config;
}

/// A controller, and what it plans.
struct Planner {
  explicit Planner(const watcher::ApiConfig& api) : config(ConfigFor(api)), watcher(api, plans) {
    watcher.Add(kPods, watcher::WatchMode::kSet);
    watcher.Start();
  }
  void Start() {
    leading = std::make_unique<Leading>(Leading::Parts{config, reporter, metrics},
                                        controller::SinkKind::kPodState, [] { return true; });
  }

  const Config config;
  controller::Reporter reporter{false};
  controller::ControllerMetrics metrics;
  Plans plans;
  watcher::Watcher watcher;
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

/// The same requests that the controller makes.
double BareLoop(const std::vector<json>& pods, const std::vector<std::string>& annotations,
                const watcher::ApiConfig& api) {
  return SecondsOf(static_cast<int>(pods.size()), api, [&](watcher::ApiClient& client, int number) {
    const auto index = static_cast<size_t>(number);
    const json& metadata = pods[index].at("metadata");
    client.Patch(std::string(kPods) + "/" + metadata.at("name").get<std::string>(),
                 watcher::PatchType::kMerge,
                 {{"metadata",
                   {{"uid", metadata.at("uid")},
                    {"resourceVersion", metadata.at("resourceVersion")},
                    {"finalizers", {controller::kPodFinalizer}},
                    {"annotations", {{"openstack.org/kuryr-vif", annotations[index]}}}}}});
  });
}

double Percentile(std::vector<double> times, double percent) {
  std::sort(times.begin(), times.end());
  return times.at(static_cast<size_t>(static_cast<double>(times.size() - 1) * percent / 100));
}

void Throughput(int count, int rounds, const watcher::ApiConfig& api) {
  std::printf("%-8s %14s %14s %8s\n", "round", "bare [pods/s]", "ours [pods/s]", "ratio");
  Planner planner(api);
  size_t planned = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string name = std::to_string(round) + "-";
    const std::vector<json> ours = CreatePods("ours-" + name, count, api);
    const auto start = Clock::now();
    planner.Start();
    planner.plans.WaitFor(planned += ours.size());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    planner.leading.reset();
    watcher::ApiClient client(api);
    const std::vector<json> bare = CreatePods("bare-" + name, count, api);
    const double floor = BareLoop(bare, AnnotationsOf(ours, client), api);
    planner.plans.WaitFor(planned += bare.size());
    std::printf("%-8d %14.0f %14.0f %8.2f\n", round, count / floor, count / seconds,
                floor / seconds);
  }
}

/// With a leader: from the answer to a pod's creation to its plan seen.
void Latency(int count, const watcher::ApiConfig& api) {
  Planner planner(api);
  planner.Start();
  watcher::ApiClient client(api);
  std::vector<double> times;
  for (int number = 0; number < count; ++number) {
    const std::string name = "one-" + std::to_string(number);
    client.Post(kPods, PodNamed(name));
    const auto created = Clock::now();
    while (!planner.plans.planned().contains(name)) std::this_thread::yield();
    times.push_back(
        std::chrono::duration<double, std::milli>(planner.plans.planned().at(name) - created)
            .count());
  }
  std::printf("from created to planned, one at a time: p50 %.1f ms, p99 %.1f ms\n",
              Percentile(times, 50), Percentile(times, 99));
}

/// Of the process itself, whose API server is another one.
void Memory(int count) {
  Process server({.argv = {KURYR_BIN_DIR "/fake-apiserver"}});
  server.WaitForOutput("\n");
  const watcher::ApiConfig api = {.api_root =
                                      server.output().substr(0, server.output().find('\n'))};
  // Nothing of them stays here, whose memory could be used again.
  SecondsOf(count, api, [](watcher::ApiClient& client, int number) {
    client.Post(kPods, PodNamed("pod-" + std::to_string(number)));
  });
  ::malloc_trim(0);
  const Config config = ConfigFor(api);
  controller::Reporter reporter(false);
  controller::ControllerMetrics metrics;
  const size_t before = watcher::ResidentBytes();
  Leading leading({config, reporter, metrics}, controller::SinkKind::kPodState,
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
}

}  // namespace
}  // namespace kuryr::test

int main(int argc, char** argv) {
  using namespace kuryr::test;
  std::signal(SIGPIPE, SIG_IGN);
  const int pods = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  try {
    if (const auto why = KubeApiServer::Unavailable()) throw std::runtime_error(*why);
    const KubeApiServer server;
    const kuryr::watcher::ApiConfig api = {.api_root = server.url(),
                                           .ca = {.file = server.ca_file()},
                                           .token = {.file = server.token_file()}};
    Throughput(pods, rounds, api);
    Latency(std::min(pods, 200), api);
    Memory(1'000);
    Memory(100'000);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "controller_bench: %s\n", e.what());
    return 1;
  }
}
