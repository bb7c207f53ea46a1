// Open vSwitch's programs are killed while pods come and go.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_annotations.h"
#include "binding/netlink/route_socket.h"
#include "tests/binding/node_fixture.h"
#include "tests/support/environment.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {
namespace {

using std::chrono::seconds;
using ::testing::ContainsRegex;
using ::testing::Each;

constexpr int kThreads = 8;

/// Is Open vSwitch there, how far are the pods, and what became of them.
class Progress {
 public:
  void SetUp(bool up) {
    const MutexLock lock(mutex_);
    up_ = up;
    changed_.notify_all();
  }
  void WaitUntilUp() {
    const MutexLock lock(mutex_);
    changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return up_; });
  }
  void Count(const std::string& failure) {
    const MutexLock lock(mutex_);
    ++done_;
    if (!failure.empty()) failures_.push_back(failure);
    changed_.notify_all();
  }
  void WaitUntilDone(int pods) {
    const MutexLock lock(mutex_);
    changed_.wait(mutex_, [&]() REQUIRES(mutex_) { return done_ >= pods; });
  }
  std::vector<std::string> failures() {
    const MutexLock lock(mutex_);
    return failures_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool up_ GUARDED_BY(mutex_) = true;
  int done_ GUARDED_BY(mutex_) = 0;
  std::vector<std::string> failures_ GUARDED_BY(mutex_);
};

class OvsRestartTest : public NodeTest {
 protected:
  static const PlugScenario& Scenario(const std::string& name) {
    for (const PlugScenario& scenario : PlugScenarios()) {
      if (scenario.name == name) return scenario;
    }
    throw std::invalid_argument("no scenario " + name);
  }

  std::string FailureOfConnect(const Pod& pod) {
    try {
      Connect(pod);
    } catch (const std::system_error& e) {
      return e.what();
    }
    return "";
  }
  /// As a runtime does: until it succeeds.
  void DisconnectForSure(const Pod& pod) {
    for (;;) {
      try {
        return Disconnect(pod);
      } catch (const std::system_error&) {
        progress_.WaitUntilUp();
      }
    }
  }
  /// ping gives up when it hears that nobody answers, and Open vSwitch may be on its way back.
  static bool Reaches(const Pod& pod, const std::string& address) {
    const NetnsGuard inside(pod.netns);
    const auto end = std::chrono::steady_clock::now() + seconds(60);
    bool answered = false;
    while (!answered && std::chrono::steady_clock::now() < end)
      answered = test::RunProgram({.argv = {"ping", "-c1", "-w5", address}}).status == 0;
    return answered;
  }
  void PlugAndUnplug(int round, int n) {
    const Pod pod = MakePod(Scenario(round % 4 == 0 ? "Hybrid" : "Ovs"), n);
    const std::string failure = FailureOfConnect(pod);
    if (failure.empty()) {
      EXPECT_TRUE(Reaches(pod, "10.1.0.1"));
    }
    progress_.Count(failure);
    DisconnectForSure(pod);
    RemovePodNetns(pod.attachment.netns);
  }

  void KillOne(bool server) {
    progress_.SetUp(false);
    (server ? ovs_->server() : ovs_->vswitchd()).Signal(SIGKILL);
    if (server) {
      ovs_->StartServer();
    } else {
      ovs_->StartVswitchd();
    }
    progress_.SetUp(true);
  }

  Progress progress_;
};

/// KURYR_CONNECTS=500 KURYR_KILLS=20 in the environment make it thorough.
TEST_F(OvsRestartTest, ConnectSucceedsOrFailsCleanWhileOvsIsKilled) {
  const int connects = test::FromEnvironment("KURYR_CONNECTS", 40);
  const int kills = test::FromEnvironment("KURYR_KILLS", 3);
  const Pod peer = MakePod(Scenario("Ovs"), 1);
  Connect(peer);
  const auto before = State({&peer.netns});
  std::atomic<int> next = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = next++; round < connects; round = next++)
        PlugAndUnplug(round, kFirstPod + thread);
    });
  }

  // Evenly strewn, each at a random moment of its part.
  std::mt19937 random(static_cast<unsigned>(test::FromEnvironment("KURYR_SEED", 1)));
  const int part = connects / kills;
  for (int kill = 0; kill < kills; ++kill) {
    std::uniform_int_distribution<int> moment(kill * part, (kill + 1) * part - 1);
    progress_.WaitUntilDone(moment(random));
    KillOne(kill % 2 == 0);
  }
  threads.clear();

  EXPECT_EQ(State({&peer.netns}), before);
  Ping(peer, "10.1.0.1");
  const auto failures = progress_.failures();
  std::cout << connects << " connects, " << kills << " kills: " << failures.size()
            << " failed clean\n";
  EXPECT_THAT(failures, Each(ContainsRegex("OVSDB|ovs-vswitchd")));
}

/// ovs-vswitchd writes the flags of a port's link back when it lets go of it, by its name: it may
/// set a new link down.
TEST_F(OvsRestartTest, ALinkNamedLikeAnEarlierPortIsMadeOnceThatIsLetGo) {
  Connect(MakePod(Scenario("Ovs"), 1));
  const Pod port = MakePod(Scenario("Ovs"), 2);
  Connect(port);
  ovs_->vswitchd().Signal(SIGSTOP);
  Disconnect(port);
  RemovePodNetns(port.attachment.netns);
  const Pod pod = MakePod(Scenario("Hybrid"), 2);
  const std::string& name = pod.planned.plug.host_interface;
  ASSERT_EQ(name, port.planned.plug.host_interface);

  std::jthread connecting([&] { Connect(pod); });
  // Connect is never seen to wait: it would have made the link by then.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  RouteSocket host;
  while (!host.FindLink(name) && std::chrono::steady_clock::now() < end) std::this_thread::yield();

  EXPECT_FALSE(host.FindLink(name));
  ovs_->vswitchd().Signal(SIGCONT);
  connecting.join();
  EXPECT_TRUE(Reaches(pod, "10.1.0.1"));
}

}  // namespace
}  // namespace kuryr::binding
