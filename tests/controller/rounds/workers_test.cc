#include "controller/rounds/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/thread_annotations.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

using namespace std::chrono_literals;
using watcher::ApiError;

/// Counts the rounds of each key.
class Rounds {
 public:
  void Count(const std::string& key) {
    const MutexLock lock(mutex_);
    ++counts_[key];
    changed_.notify_all();
  }
  void WaitFor(const std::string& key, int count) {
    const MutexLock lock(mutex_);
    while (counts_[key] < count) changed_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, int> counts_ GUARDED_BY(mutex_);
};

TEST(WorkersTest, EachThreadHasARoundOfItsOwn) {
  RoundQueue queue;
  std::latch both(2);
  std::array<std::atomic<int>, 2> keys{};
  size_t made = 0;
  Workers workers(queue, 2, [&] {
    return [&, index = made++](const Key&) {
      ++keys.at(index);
      both.arrive_and_wait();
    };
  });

  queue.Add({Key::kPod, "a"});
  queue.Add({Key::kPod, "b"});
  both.wait();
  workers.Stop();

  EXPECT_EQ(made, 2U);
  EXPECT_EQ(keys[0], 1);
  EXPECT_EQ(keys[1], 1);
}

/// A round sees all keys that were added before it began; no two rounds of a key overlap.
TEST(WorkersTest, EveryAddIsFollowedByARoundAndNoTwoOfOneKeyOverlap) {
  constexpr size_t kKeys = 5;
  constexpr int kAdds = 2000;
  RoundQueue queue;
  std::array<std::atomic<int>, kKeys> wanted{};
  std::array<std::atomic<int>, kKeys> at_work{};
  std::atomic<int> overlaps = 0;
  std::latch all_seen(kKeys);
  std::array<bool, kKeys> done{};  // one for each key, whose rounds do not overlap
  Workers workers(queue, 4, [&] {
    return [&](const Key& key) {
      const size_t index = std::stoul(key.object);
      if (++at_work.at(index) > 1) ++overlaps;
      const bool complete = wanted.at(index) == kAdds;
      std::this_thread::yield();
      --at_work.at(index);
      if (complete && !std::exchange(done.at(index), true)) all_seen.count_down();
    };
  });

  std::vector<std::jthread> adders;
  for (size_t index = 0; index < kKeys; ++index) {
    adders.emplace_back([&, index] {
      for (int i = 0; i < kAdds; ++i) {
        ++wanted.at(index);
        queue.Add({Key::kPod, std::to_string(index)});
      }
    });
  }
  all_seen.wait();

  EXPECT_EQ(overlaps, 0);
}

TEST(WorkersTest, ARoundThatThrowsIsTriedAgainAndDisturbsNoOther) {
  RoundQueue queue({.retry_base = 1ms, .retry_cap = 2ms});
  Rounds rounds;
  Workers workers(queue, 1, [&] {
    return [&](const Key& key) {
      rounds.Count(key.object);
      if (key.object == "broken") throw std::runtime_error("broken");
    };
  });

  queue.Add({Key::kPod, "broken"});
  queue.Add({Key::kPod, "whole"});

  rounds.WaitFor("whole", 1);
  rounds.WaitFor("broken", 3);
  EXPECT_GE(queue.metrics().retries, 2U);
}

TEST(WorkersTest, RetryAfterIsHeldForTwoMinutesAtMost) {
  std::atomic<RoundQueue::Clock::time_point> now = RoundQueue::Clock::time_point(1h);
  RoundQueue queue({.now = [&] { return now.load(); }});
  Rounds rounds;
  Workers workers(queue, 1, [&] {
    return [&](const Key& key) {
      rounds.Count(key.object);
      if (key.object == "busy") throw ApiError(429, "TooManyRequests", "later", 1h);
    };
  });
  queue.Add({Key::kPod, "busy"});
  queue.Add({Key::kPod, "other"});
  rounds.WaitFor("other", 1);  // so the round before it has ended

  now = now.load() + 119s;
  queue.Add({Key::kPod, "busy"});
  queue.Add({Key::kPod, "other"});
  rounds.WaitFor("other", 2);
  EXPECT_EQ(queue.metrics().delayed, 1U);
  now = now.load() + 1s;
  queue.Add({Key::kPod, "other"});

  rounds.WaitFor("busy", 2);
}

TEST(WorkersTest, StopLetsTheRoundUnderWayEnd) {
  RoundQueue queue;
  std::latch begun(1);
  std::atomic<bool> ended = false;
  std::atomic<int> rounds = 0;
  Workers workers(queue, 1, [&] {
    return [&](const Key&) {
      ++rounds;
      begun.count_down();
      EXPECT_FALSE(queue.Get());  // returns when the queue is shut down
      ended = true;
    };
  });
  queue.Add({Key::kPod, "a"});
  begun.wait();

  workers.Stop();
  queue.Add({Key::kPod, "b"});

  EXPECT_TRUE(ended);
  EXPECT_EQ(rounds, 1);
}

TEST(WorkersTest, AFactoryThatThrowsLeavesNoThread) {
  RoundQueue queue;
  size_t made = 0;
  const auto make = [&]() -> Workers::Round {
    if (++made == 2) throw std::runtime_error("no client");
    return [](const Key&) {};
  };

  EXPECT_THROW(Workers(queue, 2, make), std::runtime_error);
}

}  // namespace
}  // namespace kuryr::controller
