#include "service/chore.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>

namespace kuryr::service {
namespace {

using namespace std::chrono_literals;

const auto kAlways = [] { return true; };

TEST(ChoreTest, RunsWhenItIsWanted) {
  std::latch ran(1);
  Chore chore("test", kAlways, [&](Chore&) { ran.count_down(); });

  chore.Want();

  ran.wait();
}

TEST(ChoreTest, RunMayWantTheNextOne) {
  std::latch ran(3);
  Chore chore("test", kAlways, [&](Chore& self) {
    if (ran.try_wait()) return;
    ran.count_down();
    self.Want(1ms);
  });

  chore.Want();

  ran.wait();
}

TEST(ChoreTest, EarlierWishCounts) {
  std::latch ran(1);
  Chore chore("test", kAlways, [&](Chore&) { ran.count_down(); });

  chore.Want(1h);
  chore.Want(1ms);

  ran.wait();
}

TEST(ChoreTest, RunThatThrowsIsRepeated) {
  std::latch ran(2);
  Chore chore("test", kAlways, [&](Chore&) {
    ran.count_down();
    if (!ran.try_wait()) throw std::runtime_error("no answer");
  });

  chore.Want();

  ran.wait();
}

TEST(ChoreTest, RunIsPutOffWhileItMayNotRun) {
  std::atomic<int> asked = 0;
  std::latch ran(1);
  Chore chore("test", [&] { return ++asked > 1; }, [&](Chore&) { ran.count_down(); });

  chore.Want();

  ran.wait();
  EXPECT_EQ(asked, 2);
}

TEST(ChoreTest, NothingRunsBeforeItIsWanted) {
  std::atomic<int> runs = 0;
  {
    const Chore chore("test", kAlways, [&](Chore&) { ++runs; });
  }

  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace kuryr::service
