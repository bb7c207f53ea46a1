#include "service/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace kuryr::service {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class WorkQueueTest : public ::testing::Test {
 protected:
  using Clock = WorkQueue::Clock;

  /// The keys of the next `count` rounds, which end at once.
  std::vector<std::string> Take(size_t count) {
    std::vector<std::string> keys;
    while (keys.size() < count) {
      keys.push_back(queue_.Get()->key);
      queue_.Done(keys.back());
    }
    return keys;
  }
  /// Runs a round of `key` that asks for a retry; returns the time until the key is ready again.
  Clock::duration Retry(const std::string& key) {
    EXPECT_EQ(queue_.Get()->key, key);
    queue_.AddRateLimited(key);
    queue_.Done(key);
    const auto failed = now_;
    while (queue_.metrics().ready == 0) now_ += 10ms;
    return now_ - failed;
  }

  Clock::time_point now_{1h};
  WorkQueue queue_{{.now = [this] { return now_; }}};
};

TEST_F(WorkQueueTest, KeysComeInTheOrderInWhichTheyWereAdded) {
  for (const char* key : {"a", "b", "c", "a", "b"}) queue_.Add(key);

  EXPECT_THAT(Take(3), ElementsAre("a", "b", "c"));
  EXPECT_EQ(queue_.metrics().ready, 0U);
}

TEST_F(WorkQueueTest, NamespacesTakeTurns) {
  for (const char* key : {"many/a", "many/b", "many/c", "few/a", "/node"}) queue_.Add(key);

  EXPECT_THAT(Take(5), ElementsAre("many/a", "few/a", "/node", "many/b", "many/c"));
}

TEST_F(WorkQueueTest, AKeyAtWorkThatIsAddedIsRunOnceMoreBehindTheOthers) {
  queue_.Add("a");
  ASSERT_EQ(queue_.Get()->key, "a");
  queue_.Add("a");
  queue_.Add("a");
  queue_.Add("b");
  EXPECT_EQ(queue_.metrics().ready, 1U);  // no other worker gets a

  queue_.Done("a");

  EXPECT_THAT(Take(2), ElementsAre("b", "a"));
  EXPECT_EQ(queue_.metrics().ready, 0U);
}

TEST_F(WorkQueueTest, AKeyIsNotReadyBeforeItsDelayIsOver) {
  queue_.AddAfter("late", 10s);
  queue_.AddAfter("early", 5s);
  queue_.Add("now");
  EXPECT_EQ(queue_.metrics().delayed, 2U);
  EXPECT_THAT(Take(1), ElementsAre("now"));

  now_ += 10s;
  queue_.Add("last");

  EXPECT_THAT(Take(3), ElementsAre("early", "late", "last"));
}

TEST_F(WorkQueueTest, TheEarlierOfTwoDelaysCounts) {
  queue_.AddAfter("a", 10s);
  queue_.AddAfter("a", 5s);
  queue_.AddAfter("b", 5s);
  queue_.AddAfter("b", 10s);

  now_ += 5s;

  EXPECT_THAT(Take(2), ElementsAre("a", "b"));
  EXPECT_EQ(queue_.metrics().delayed, 0U);
}

TEST_F(WorkQueueTest, AnAddEndsADelay) {
  queue_.AddAfter("a", 10s);

  queue_.Add("a");

  EXPECT_THAT(Take(1), ElementsAre("a"));
  now_ += 10s;
  EXPECT_EQ(queue_.metrics().ready, 0U);
}

TEST_F(WorkQueueTest, NothingEndsADelayThatIsHeld) {
  queue_.AddAfter("a", 10s, Hold::kFirmly);
  queue_.Add("a");
  queue_.AddAfter("a", 1s);
  queue_.AddAfter("a", 5s, Hold::kFirmly);

  now_ += 9s;
  EXPECT_EQ(queue_.metrics().ready, 0U);
  now_ += 1s;

  EXPECT_THAT(Take(1), ElementsAre("a"));
  queue_.Add("a");
  EXPECT_EQ(queue_.metrics().ready, 1U);
}

TEST_F(WorkQueueTest, ADelayIsHeldForAKeyThatIsReadyOrAtWorkToo) {
  queue_.Add("ready");
  queue_.AddAfter("ready", 10s, Hold::kFirmly);
  queue_.Add("at work");
  ASSERT_EQ(queue_.Get()->key, "at work");
  queue_.Add("at work");
  queue_.AddAfter("at work", 10s, Hold::kFirmly);
  queue_.Done("at work");

  EXPECT_EQ(queue_.metrics().ready, 0U);
  now_ += 10s;

  EXPECT_THAT(Take(2), ElementsAre("ready", "at work"));
}

TEST_F(WorkQueueTest, RetriesComeSlowerUpToAMinute) {
  queue_.Add("a");

  const auto first = Retry("a");
  Clock::duration longest{};
  unsigned retries = 1;
  // Delays are random: they may stay short for many retries.
  for (; longest < 60s && retries < 10'000; ++retries) longest = std::max(longest, Retry("a"));

  EXPECT_GE(first, 200ms);
  EXPECT_LE(first, 600ms);
  EXPECT_EQ(longest, 60s);
  EXPECT_EQ(queue_.metrics().retries, retries);
}

TEST_F(WorkQueueTest, RoundsThatNewsBeginDoNotMakeRetriesSlower) {
  for (int i = 0; i < 40; ++i) {
    queue_.Add("a");
    ASSERT_EQ(queue_.Get()->key, "a");
    queue_.AddRateLimited("a");
    queue_.Done("a");
  }

  now_ += 600ms;

  EXPECT_THAT(Take(1), ElementsAre("a"));
}

TEST_F(WorkQueueTest, RetriesOfSeveralKeysDoNotComeTogether) {
  constexpr size_t kKeys = 50;
  for (size_t i = 0; i < kKeys; ++i) queue_.AddRateLimited(std::to_string(i));

  size_t together = 0;
  for (size_t before = 0; before < kKeys; now_ += 1ms) {
    const size_t ready = queue_.metrics().ready;
    together = std::max(together, ready - before);
    before = ready;
  }

  EXPECT_LT(together, kKeys / 5);
}

TEST_F(WorkQueueTest, ForgetAndARoundWithoutRetryBeginTheDelaysAnew) {
  queue_.Add("a");
  for (int i = 0; i < 40; ++i) Retry("a");

  queue_.Forget("a");
  EXPECT_LE(Retry("a"), 600ms);
  for (int i = 0; i < 40; ++i) Retry("a");
  ASSERT_EQ(queue_.Get()->key, "a");
  queue_.Add("a");
  queue_.Done("a");

  EXPECT_LE(Retry("a"), 600ms);
}

TEST_F(WorkQueueTest, MetricsTellWhatWaitsAndForHowLong) {
  queue_.Add("a");
  now_ += 2s;
  queue_.Add("b");
  queue_.AddAfter("c", 10s);
  now_ += 1s;

  const QueueMetrics before = queue_.metrics();
  const auto item = queue_.Get();
  const QueueMetrics after = queue_.metrics();

  EXPECT_EQ(before.ready, 2U);
  EXPECT_EQ(before.delayed, 1U);
  EXPECT_EQ(before.at_work, 0U);
  EXPECT_EQ(before.oldest, 3s);
  EXPECT_EQ(item->waited, 3s);
  EXPECT_EQ(after.ready, 1U);
  EXPECT_EQ(after.at_work, 1U);
  EXPECT_EQ(after.oldest, 1s);
  EXPECT_EQ(after.rounds, 0U);
  queue_.Done("a");
  EXPECT_EQ(queue_.metrics().rounds, 1U);
  service::MetricsText text;
  after.waited.WriteTo(text, "waited", {});
  EXPECT_THAT(text.text(), ::testing::HasSubstr("waited_sum 3\n"));
}

TEST_F(WorkQueueTest, DoneOfWhatIsNotAtWorkDoesNothing) {
  queue_.Add("a");
  queue_.Done("a");
  queue_.Done("b");

  EXPECT_THAT(Take(1), ElementsAre("a"));
  EXPECT_EQ(queue_.metrics().rounds, 1U);
}

TEST_F(WorkQueueTest, AfterShutDownNothingIsHandedOut) {
  queue_.Add("a");
  queue_.AddAfter("b", 1s);

  queue_.ShutDown();
  queue_.Add("c");

  EXPECT_FALSE(queue_.Get());
}

/// These tests use the real clock.
TEST(WorkQueueWaitTest, GetWaitsUntilADelayIsOver) {
  WorkQueue queue;
  queue.AddAfter("late", 30ms);
  queue.AddAfter("early", 10ms);

  EXPECT_EQ(queue.Get()->key, "early");
  EXPECT_EQ(queue.Get()->key, "late");
}

TEST(WorkQueueWaitTest, AnAddWakesOneThatWaitsForADelay) {
  WorkQueue queue;
  queue.AddAfter("tomorrow", 24h);
  std::jthread adder([&] { queue.Add("now"); });

  EXPECT_EQ(queue.Get()->key, "now");
}

TEST(WorkQueueWaitTest, EachDelayThatEndsWakesAWorker) {
  WorkQueue queue;
  std::latch all_at_work(3);
  std::vector<std::jthread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      EXPECT_TRUE(queue.Get());
      all_at_work.arrive_and_wait();
    });
  }

  queue.AddAfter("early", 10ms);
  queue.AddAfter("late", 20ms);

  all_at_work.arrive_and_wait();
}

/// Runs many rounds, since a test cannot see whether a thread waits already.
TEST(WorkQueueWaitTest, ShutDownWakesAllThatWait) {
  for (int round = 0; round < 100; ++round) {
    WorkQueue queue;
    queue.AddAfter("tomorrow", 24h);
    std::latch ready(4);
    std::vector<std::jthread> waiting;
    for (int i = 0; i < 3; ++i) {
      waiting.emplace_back([&] {
        ready.arrive_and_wait();
        EXPECT_FALSE(queue.Get());
      });
    }
    ready.arrive_and_wait();
    std::this_thread::yield();

    queue.ShutDown();
  }
}

}  // namespace
}  // namespace kuryr::service
