// A node full of pods: what an ADD and a DEL take through the agent, without it, by Debian's Go
// plugin bridge (which plugs an L2 interface, and no more) and as bare requests (plugin_node.h), in
// turn; and what the agent takes of the node. Prints one table. node_bench [PODS [ROUNDS]], default
// 500 and 100.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "binding/ovs/open_vswitch.h"
#include "tests/bench/plugin_node.h"

namespace kuryr::test {
namespace {

using Clock = std::chrono::steady_clock;
using Options = std::map<std::string, std::string>;

constexpr int kAtOnce = 32;
constexpr std::chrono::seconds kOvsTime{60};

double Milliseconds(const std::function<void()>& action) {
  const auto start = Clock::now();
  action();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double Percentile(std::vector<double> times, double percent) {
  std::sort(times.begin(), times.end());
  return times.at(static_cast<size_t>(static_cast<double>(times.size() - 1) * percent / 100));
}

/// One way of plugging, and how long it took each time.
struct Way {
  const char* name;
  std::function<void(const TestPod&)> add;
  std::function<void(const TestPod&)> del;
  std::vector<double> adds = {};
  std::vector<double> dels = {};

  void Print() const {
    std::printf("%-22s %8.2f %8.2f %8.2f %8.2f\n", name, Percentile(adds, 50), Percentile(adds, 99),
                Percentile(dels, 50), Percentile(dels, 99));
  }
};

void Succeed(const ProcessResult& result) {
  if (result.status != 0) throw std::runtime_error(result.out + result.err);
}

/// User and system time of the process so far.
double CpuMilliseconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream words(text.substr(text.rfind(')') + 2));
  std::string word;
  double ticks = 0;
  for (int i = 3; words >> word; ++i) {
    if (i == 14 || i == 15) ticks += std::stod(word);
  }
  return ticks * 1000 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string ResidentMemory(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return line.substr(6);
  }
  return "?";
}

class Bench {
 public:
  explicit Bench(int pods) {
    std::ofstream(node_.work_ / "alone.conf") << std::ifstream(node_.work_ / "kuryr.conf").rdbuf()
                                              << "[cni_daemon]\ndaemon_enabled = false\n";
    node_.StartAgent();
    for (int i = 0; i < pods; ++i) Succeed(node_.Run("ADD", node_.ActivePod()));
  }

  void Run(int rounds) {
    std::vector<Way> ways = {Bare(), ByAgent(), Alone(), GoBridge()};
    for (int round = 0; round < rounds; ++round) {
      for (Way& way : ways) Round(way);
    }
    std::printf("%-22s %8s %8s %8s %8s\n", "ms, of one call", "ADD p50", "ADD p99", "DEL p50",
                "DEL p99");
    for (const Way& way : ways) way.Print();
    for (const Way& way : {Bare(), ByAgent(), Alone(), GoBridge()}) Burst(way);
    const pid_t agent = node_.agent_->id();
    const double before = CpuMilliseconds(agent);
    Way by_agent = ByAgent();
    for (int round = 0; round < rounds; ++round) Round(by_agent);
    std::printf("agent: %s resident, %.2f ms of CPU for an ADD and its DEL\n",
                ResidentMemory(agent).c_str(), (CpuMilliseconds(agent) - before) / rounds);
  }

 private:
  /// What ovs-vswitchd still has to do for one call is not for the next one to wait for.
  void Round(Way& way) {
    const TestPod pod = node_.ActivePod();
    binding::OpenVSwitch ovs(node_.Remote());
    ovs.WaitUntilApplied(Deadline::After(kOvsTime));
    way.adds.push_back(Milliseconds([&] { way.add(pod); }));
    ovs.WaitUntilApplied(Deadline::After(kOvsTime));
    way.dels.push_back(Milliseconds([&] { way.del(pod); }));
  }

  Way Bare() {
    return {.name = "bare requests",
            .add =
                [this](const TestPod& pod) {
                  BareAdd(node_, pod, vif::DecodeVif(node_.Vif(pod, true)));
                },
            .del = [this](const TestPod& pod) { BareDel(node_, pod); }};
  }
  Way ByCalls(const char* name, const Options& options) {
    return {.name = name,
            .add = [=, this](const TestPod& pod) { Succeed(node_.Run("ADD", pod, options)); },
            .del = [=, this](const TestPod& pod) { Succeed(node_.Run("DEL", pod, options)); }};
  }
  Way ByAgent() { return ByCalls("kuryr-cni and agent", {}); }
  Way Alone() {
    return ByCalls("kuryr-cni alone", {{"stdin", R"({"cniVersion":"0.3.1","kuryr_conf":")" +
                                                     (node_.work_ / "alone.conf").string() +
                                                     R"(","name":"kuryr","type":"kuryr-cni"})"}});
  }
  Way GoBridge() {
    const auto call = [this](const std::string& command, const TestPod& pod) {
      Command bridge = node_.Call(
          command, pod,
          {{"stdin",
            R"({"cniVersion":"0.3.1","name":"go","type":"bridge","bridge":"go0","ipam":{}})"}});
      bridge.argv = {"/usr/lib/cni/bridge"};
      Succeed(RunProgram(bridge));
    };
    return {.name = "Go bridge, L2 only",
            .add = [=](const TestPod& pod) { call("ADD", pod); },
            .del = [=](const TestPod& pod) { call("DEL", pod); }};
  }

  void Burst(const Way& way) {
    std::vector<TestPod> pods;
    for (int i = 0; i < kAtOnce; ++i) pods.push_back(node_.ActivePod());
    const auto all = [&](const std::function<void(const TestPod&)>& act) {
      return Milliseconds([&] {
               std::vector<std::jthread> callers;
               for (const TestPod& pod : pods) callers.emplace_back([&] { act(pod); });
             }) /
             kAtOnce;
    };
    binding::OpenVSwitch ovs(node_.Remote());
    ovs.WaitUntilApplied(Deadline::After(kOvsTime));
    const double add = all(way.add);
    ovs.WaitUntilApplied(Deadline::After(kOvsTime));
    std::printf("%d at once, %-22s %8.2f ms an ADD, %8.2f ms a DEL\n", kAtOnce, way.name, add,
                all(way.del));
  }

  PluginNode node_;
};

}  // namespace
}  // namespace kuryr::test

int main(int argc, char** argv) {
  const int pods = argc > 1 ? std::atoi(argv[1]) : 500;
  std::printf("%d pods on the node\n", pods);
  kuryr::test::Bench(pods).Run(argc > 2 ? std::atoi(argv[2]) : 100);
}
