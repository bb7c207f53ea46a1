// Many pods that come and go at once, of all drivers: nothing is left of them.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/binding/node_fixture.h"
#include "tests/support/environment.h"

namespace kuryr::binding {
namespace {

using ::testing::IsEmpty;

constexpr int kSoakThreads = 16;

class SoakTest : public NodeTest {
 protected:
  /// `rounds` in all, by kSoakThreads threads; the first failure of each is returned.
  static std::vector<std::string> InThreads(int rounds,
                                            const std::function<void(int thread, int round)>& act) {
    std::atomic<int> next = 0;
    std::vector<std::string> failures(kSoakThreads);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kSoakThreads; ++thread) {
      threads.emplace_back([&, thread] {
        try {
          for (int round = next++; round < rounds; round = next++) act(thread, round);
        } catch (const std::exception& e) {
          failures[static_cast<size_t>(thread)] = e.what();
        }
      });
    }
    threads.clear();
    std::erase(failures, "");
    return failures;
  }
  /// Every second round is Open vSwitch's, the others take turns.
  static const PlugScenario& ScenarioOf(int round) {
    static const std::vector<PlugScenario> all = [] {
      std::vector<PlugScenario> there;
      for (const PlugScenario& scenario : PlugScenarios()) {
        if (scenario.bridge == PlugScenario::Bridge::kThere && !scenario.needs_vlans)
          there.push_back(scenario);
      }
      return there;
    }();
    const auto turn = static_cast<size_t>(round);
    return turn % 2 == 0 ? all[0] : all[turn / 2 % all.size()];
  }
  void PlugAndUnplug(const PlugScenario& scenario, int n, bool ping) {
    const Pod pod = MakePod(scenario, n);
    Connect(pod);
    if (ping) {
      for (const char* address : {"10.1.0.1", "fd00::1"}) Ping(pod, address);
    }
    Disconnect(pod);
    RemovePodNetns(pod.attachment.netns);
  }
};

/// KURYR_ROUNDS=2000 in the environment makes it thorough.
TEST_F(SoakTest, PodsOfAllDriversLeaveNothing) {
  const int rounds = test::FromEnvironment("KURYR_ROUNDS", 160);
  const PlugScenario& ovs = PlugScenarios().front();
  const Pod peer = MakePod(ovs, 1);
  Connect(peer);
  const auto first = [&](int thread, int) { PlugAndUnplug(ovs, kFirstPod + thread, false); };
  // The kernel and libopenvswitch keep some things from their first use on.
  EXPECT_THAT(InThreads(kSoakThreads, first), IsEmpty());
  const auto before = State({&peer.netns});
  const size_t files = CountOpenFiles();
  const size_t namespaces = CountPodNetns();

  const auto any = [&](int thread, int round) {
    PlugAndUnplug(ScenarioOf(round), kFirstPod + thread, round % 8 == 0);
  };
  EXPECT_THAT(InThreads(rounds, any), IsEmpty());

  EXPECT_EQ(State({&peer.netns}), before);
  EXPECT_EQ(CountOpenFiles(), files);
  EXPECT_EQ(CountPodNetns(), namespaces);
}

}  // namespace
}  // namespace kuryr::binding
