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
  service::WorkQueue queue;
  std::latch both(2);
  std::array<std::atomic<int>, 2> keys{};
  size_t made = 0;
  Workers workers(queue, 2, [&] {
    return [&, index = made++](const std::string&) {
      ++keys.at(index);
      both.arrive_and_wait();
    };
  });

  queue.Add("a");
  queue.Add("b");
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
  service::WorkQueue queue;
  std::array<std::atomic<int>, kKeys> wanted{};
  std::array<std::atomic<int>, kKeys> at_work{};
  std::atomic<int> overlaps = 0;
  std::latch all_seen(kKeys);
  std::array<bool, kKeys> done{};  // one for each key, whose rounds do not overlap
  Workers workers(queue, 4, [&] {
    return [&](const std::string& key) {
      const size_t index = std::stoul(key);
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
        queue.Add(std::to_string(index));
      }
    });
  }
  all_seen.wait();

  EXPECT_EQ(overlaps, 0);
}

TEST(WorkersTest, ARoundThatThrowsIsTriedAgainAndDisturbsNoOther) {
  service::WorkQueue queue({.retry_base = 1ms, .retry_cap = 2ms});
  Rounds rounds;
  Workers workers(queue, 1, [&] {
    return [&](const std::string& key) {
      rounds.Count(key);
      if (key == "broken") throw std::runtime_error("broken");
    };
  });

  queue.Add("broken");
  queue.Add("whole");

  rounds.WaitFor("whole", 1);
  rounds.WaitFor("broken", 3);
  EXPECT_GE(queue.metrics().retries, 2U);
}

TEST(WorkersTest, RetryAfterIsHeldForTwoMinutesAtMost) {
  std::atomic<service::WorkQueue::Clock::time_point> now =
      service::WorkQueue::Clock::time_point(1h);
  service::WorkQueue queue({.now = [&] { return now.load(); }});
  Rounds rounds;
  Workers workers(queue, 1, [&] {
    return [&](const std::string& key) {
      rounds.Count(key);
      if (key == "busy") throw ApiError(429, "TooManyRequests", "later", 1h);
    };
  });
  queue.Add("busy");
  queue.Add("other");
  rounds.WaitFor("other", 1);  // so the round before it has ended

  now = now.load() + 119s;
  queue.Add("busy");
  queue.Add("other");
  rounds.WaitFor("other", 2);
  EXPECT_EQ(queue.metrics().delayed, 1U);
  now = now.load() + 1s;
  queue.Add("other");

  rounds.WaitFor("busy", 2);
}

TEST(WorkersTest, StopLetsTheRoundUnderWayEnd) {
  service::WorkQueue queue;
  std::latch begun(1);
  std::atomic<bool> ended = false;
  std::atomic<int> rounds = 0;
  Workers workers(queue, 1, [&] {
    return [&](const std::string&) {
      ++rounds;
      begun.count_down();
      EXPECT_FALSE(queue.Get());  // returns when the queue is shut down
      ended = true;
    };
  });
  queue.Add("a");
  begun.wait();

  workers.Stop();
  queue.Add("b");

  EXPECT_TRUE(ended);
  EXPECT_EQ(rounds, 1);
}

TEST(WorkersTest, AFactoryThatThrowsLeavesNoThread) {
  service::WorkQueue queue;
  size_t made = 0;
  const auto make = [&]() -> Workers::Round {
    if (++made == 2) throw std::runtime_error("no client");
    return [](const std::string&) {};
  };

  EXPECT_THROW(Workers(queue, 2, make), std::runtime_error);
}

}  // namespace
}  // namespace kuryr::controller
