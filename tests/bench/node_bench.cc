// A node full of pods. It measures, in turn, an ADD and a DEL through the agent, without it, by
// Debian's Go plugin bridge (with and without addresses), and as bare requests (plugin_node.h). It
// also measures many at once, and what the agent takes of the node. node_bench [PODS [ROUNDS [FILE
// [CONFIG...]]]]: one table for each of PODS, such as 20,100,500 (default: 500), of so many ROUNDS
// (100; or one number for each of PODS, such as 100,60,30); FILE gets the results as JSON. Each
// CONFIG is a network configuration of another plugin, which is in CNI_PATH (/usr/lib/cni).

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "binding/ovs/open_vswitch.h"
#include "tests/bench/plugin_node.h"
#include "tests/bench/process_usage.h"

namespace kuryr::test {
namespace {

using Clock = std::chrono::steady_clock;
using Options = std::map<std::string, std::string>;
using Json = nlohmann::ordered_json;

constexpr std::array<int, 4> kBursts = {8, 32, 100, 500};
/// Above this number, only the floor and the agent run, once: 500 programs that work alone have no
/// memory left.
constexpr int kMostPrograms = 100;
constexpr int kRepeats = 3;
constexpr std::chrono::seconds kOvsTime{120};
/// The time until the threads of calls have ended.
constexpr std::chrono::seconds kRestTime{1};
constexpr std::chrono::seconds kIdleTime{10};
/// The time for which a new pod's multicast goes to all ports.
constexpr std::chrono::seconds kMulticastTime{20};
/// The kernel frees a link within some 20 ms.
constexpr std::chrono::seconds kLongestRemoval{1};
constexpr std::chrono::microseconds kLookTime{300};

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double Milliseconds(const std::function<void()>& action) {
  const auto start = Clock::now();
  action();
  return MillisecondsSince(start);
}

double Percentile(std::vector<double> times, double percent) {
  std::sort(times.begin(), times.end());
  return times.at(static_cast<size_t>(static_cast<double>(times.size() - 1) * percent / 100));
}

Json Spread(const std::vector<double>& times) {
  Json spread;
  for (const int percent : {10, 50, 90, 99})
    spread["p" + std::to_string(percent)] = Percentile(times, percent);
  return spread;
}

/// Of each figure of bursts that were repeated.
Json Medians(const std::vector<Json>& repeats) {
  Json medians;
  for (const auto& [figure, unused] : repeats.front().items()) {
    std::vector<double> values;
    for (const Json& repeat : repeats) values.push_back(repeat.at(figure));
    medians[figure] = Percentile(values, 50);
  }
  return medians;
}

/// A way of plugging.
struct Way {
  std::string name;
  std::function<void(const TestPod&)> add;
  std::function<void(const TestPod&)> del;
  bool is_cheap = false;  ///< it has no program of its own that does all of the work
  /// The process that has a LinkRemover, whose threads wait for the kernel after the DEL; 0 if the
  /// DEL itself waits.
  pid_t remover = 0;
};

struct Times {
  std::vector<double> adds;
  std::vector<double> dels;
  std::vector<double> removals;  ///< until the kernel has freed the links of the DEL
};

void Succeed(const ProcessResult& result) {
  if (result.status != 0) throw std::runtime_error(result.out + result.err);
}

/// The plugin folders, with colons between them.
std::string PluginFolders() {
  const char* given = std::getenv("CNI_PATH");
  return given == nullptr ? "/usr/lib/cni" : given;
}

std::string FindPlugin(const std::string& name) {
  std::istringstream folders(PluginFolders());
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto path = std::filesystem::path(folder) / name;
    if (std::filesystem::exists(path)) return path;
  }
  throw std::runtime_error("no plugin " + name + " in CNI_PATH " + PluginFolders());
}

class Bench {
 public:
  /// `peers` are further network configurations beside the default ones.
  explicit Bench(const std::vector<Json>& peers) : peers_(DefaultPeers()) {
    peers_.insert(peers_.end(), peers.begin(), peers.end());
    std::ofstream(node_.work_ / "alone.conf") << std::ifstream(node_.work_ / "kuryr.conf").rdbuf()
                                              << "[cni_daemon]\ndaemon_enabled = false\n";
    // The agent's unit sets this variable as well.
    node_.StartAgent({"env", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0"});
  }

  /// Measures with `pods` pods, more than before.
  Json Run(int pods, int rounds) {
    for (; present_ < pods; ++present_) Succeed(node_.Run("ADD", node_.ActivePod()));
    std::this_thread::sleep_for(kMulticastTime);
    std::printf("%d pods on the node\n", pods);
    Json result = {{"pods", pods}, {"rounds", rounds}};
    result["single"] = InTurn(rounds);
    result["agent"] = Agent(rounds);
    result["bursts"] = Bursts();
    return result;
  }

 private:
  Json InTurn(int rounds) {
    const std::vector<Way> ways = Ways();
    std::vector<Times> times(ways.size());
    for (int round = 0; round < rounds; ++round) {
      for (size_t way = 0; way < ways.size(); ++way) Round(ways[way], times[way]);
    }
    Json result;
    std::printf("%-22s %26s %26s\n%-22s", "ms, of one call", "ADD", "DEL", "");
    for (int i = 0; i < 2; ++i) std::printf(" %8s %8s %8s", "p10", "p50", "p99");
    std::printf("\n");
    for (size_t way = 0; way < ways.size(); ++way) {
      std::printf("%-22s", ways[way].name.c_str());
      for (const auto* all : {&times[way].adds, &times[way].dels}) {
        for (const int percent : {10, 50, 99}) std::printf(" %8.2f", Percentile(*all, percent));
      }
      std::printf(", kernel done %8.2f\n", Percentile(times[way].removals, 50));
      result[ways[way].name] = {{"ADD", Spread(times[way].adds)},
                                {"DEL", Spread(times[way].dels)},
                                {"DEL, kernel done", Spread(times[way].removals)}};
    }
    return result;
  }

  Json Bursts() {
    Json result;
    for (const int at_once : kBursts) {
      const bool is_large = at_once > kMostPrograms;
      std::map<std::string, std::vector<Json>> bursts;
      for (int repeat = 0; repeat < (is_large ? 1 : kRepeats); ++repeat) {
        for (const Way& way : Ways()) {
          if (!is_large || way.is_cheap) bursts[way.name].push_back(Burst(way, at_once));
        }
      }
      for (const auto& [name, repeats] : bursts)
        result[std::to_string(at_once)][name] = Medians(repeats);
    }
    return result;
  }

  Json Agent(int rounds) {
    const pid_t agent = node_.agent_->id();
    const Way way = ByAgent();
    Times times;
    const ProcessUsage before(agent);
    for (int round = 0; round < rounds; ++round) Round(way, times);
    const ProcessUsage after(agent);
    std::this_thread::sleep_for(kRestTime);
    const ProcessUsage rested(agent);
    std::this_thread::sleep_for(kIdleTime);
    const ProcessUsage idle(agent);
    const Json result = {{"resident_kib", after.resident_kib},
                         {"threads", idle.threads},
                         {"cpu_ms_of_add_and_del", (after.cpu_ms - before.cpu_ms) / rounds},
                         {"idle_wake_ups_in_10_s", idle.wake_ups - rested.wake_ups},
                         {"idle_cpu_ms_in_10_s", idle.cpu_ms - rested.cpu_ms}};
    std::printf("agent: %s\n", result.dump().c_str());
    return result;
  }

  /// Waits for ovs-vswitchd, so that its work for one call does not delay the next one.
  void Settle() {
    node_.agent_->ForgetOutput();
    binding::OpenVSwitch(node_.Remote()).WaitUntilApplied(Deadline::After(kOvsTime));
  }

  void Round(const Way& way, Times& times) {
    const TestPod pod = node_.ActivePod();
    Settle();
    times.adds.push_back(Milliseconds([&] { way.add(pod); }));
    Settle();
    Delete(way, pod, times);
    node_.Forget(pod);
  }

  static void Delete(const Way& way, const TestPod& pod, Times& times) {
    const long threads = way.remover == 0 ? 0 : CountThreads(way.remover);
    const auto start = Clock::now();
    way.del(pod);
    times.dels.push_back(MillisecondsSince(start));
    while (way.remover != 0 && CountThreads(way.remover) > threads &&
           Clock::now() - start < kLongestRemoval)
      std::this_thread::sleep_for(kLookTime);
    times.removals.push_back(way.remover == 0 ? times.dels.back() : MillisecondsSince(start));
  }

  std::vector<Way> Ways() {
    std::vector<Way> ways = {Bare(), ByAgent(), Alone()};
    for (const Json& peer : peers_) ways.push_back(Peer(peer));
    return ways;
  }

  Way Bare() {
    return {.name = "bare requests",
            .add =
                [this](const TestPod& pod) {
                  BareAdd(node_, pod, vif::DecodeVif(node_.Vif(pod, true)));
                },
            .del = [this](const TestPod& pod) { BareDel(node_, pod); },
            .is_cheap = true,
            .remover = ::getpid()};
  }
  Way ByCalls(const char* name, const Options& options, pid_t agent) {
    return {.name = name,
            .add = [=, this](const TestPod& pod) { Succeed(node_.Run("ADD", pod, options)); },
            .del = [=, this](const TestPod& pod) { Succeed(node_.Run("DEL", pod, options)); },
            .is_cheap = agent != 0,
            .remover = agent};
  }
  Way ByAgent() { return ByCalls("kuryr-cni and agent", {}, node_.agent_->id()); }
  Way Alone() {
    return ByCalls("kuryr-cni alone",
                   {{"stdin", R"({"cniVersion":"0.3.1","kuryr_conf":")" +
                                  (node_.work_ / "alone.conf").string() +
                                  R"(","name":"kuryr","type":"kuryr-cni"})"}},
                   0);
  }
  /// Another project's plugin, found as a runtime finds it.
  Way Peer(const Json& config) {
    const std::string name = config.at("type");
    const auto call = [this, name, input = config.dump()](const char* command, const TestPod& pod) {
      Command peer = node_.Call(command, pod, {{"stdin", input}});
      peer.env.value()["CNI_PATH"] = PluginFolders();
      peer.argv = {FindPlugin(name)};
      Succeed(RunProgram(peer));
    };
    return {.name = config.at("name"),
            .add = [=](const TestPod& pod) { call("ADD", pod); },
            .del = [=](const TestPod& pod) { call("DEL", pod); }};
  }
  Json BridgeConfig(const char* name, const Json& ipam) {
    return {{"cniVersion", "0.3.1"},
            {"name", name},
            {"type", "bridge"},
            {"bridge", "go0"},
            {"ipam", ipam}};
  }
  std::vector<Json> DefaultPeers() {
    const Json host_local = {{"type", "host-local"},
                             {"subnet", "10.244.0.0/16"},
                             {"dataDir", (node_.work_ / "host-local").string()}};
    return {BridgeConfig("go-bridge-l2", Json::object()),
            BridgeConfig("go-bridge-host-local", host_local)};
  }

  Json Burst(const Way& way, int at_once) {
    std::vector<TestPod> pods;
    for (int i = 0; i < at_once; ++i) pods.push_back(node_.ActivePod());
    const auto all = [&](const std::function<void(const TestPod&)>& act) {
      Settle();
      return Milliseconds([&] {
        std::vector<std::jthread> callers;
        for (const TestPod& pod : pods) callers.emplace_back([&] { act(pod); });
      });
    };
    const pid_t agent = node_.agent_->id();
    ForgetPeak(agent);
    const double add = all(way.add);
    const double del = all(way.del);
    for (const TestPod& pod : pods) node_.Forget(pod);
    const ProcessUsage usage(agent);
    std::printf(
        "%3d at once, %-22s ADDs %9.2f ms in all, DELs %9.2f, agent's peak %ld KiB, then %ld\n",
        at_once, way.name.c_str(), add, del, usage.peak_kib, usage.resident_kib);
    return {{"ADD", add},
            {"DEL", del},
            {"agent_peak_kib", usage.peak_kib},
            {"agent_kib", usage.resident_kib}};
  }

  PluginNode node_;
  std::vector<Json> peers_;
  int present_ = 0;
};

}  // namespace
}  // namespace kuryr::test

int main(int argc, char** argv) {
  // Lines appear while the next ones are measured.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  std::vector<nlohmann::ordered_json> peers;
  for (int i = 4; i < argc; ++i)
    peers.push_back(nlohmann::ordered_json::parse(std::ifstream(argv[i])));
  kuryr::test::Bench bench(peers);
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  std::istringstream numbers(argc > 1 ? argv[1] : "500");
  std::istringstream all_rounds(argc > 2 ? argv[2] : "100");
  std::string rounds;
  for (std::string pods; std::getline(numbers, pods, ',');) {
    std::getline(all_rounds, rounds, ',');
    results.push_back(bench.Run(std::atoi(pods.c_str()), std::atoi(rounds.c_str())));
  }
  if (argc > 3) std::ofstream(argv[3]) << results.dump(2) << "\n";
}
