#include "controller/rounds/event_rate.h"

#include <gtest/gtest.h>

namespace kuryr::controller {
namespace {

using namespace std::chrono_literals;

constexpr int kAtOnce = 25;

TEST(EventRateTest, AnObjectThatHadAllAtOnceGetsOneInFiveMinutes) {
  EventRate rate;
  const auto now = EventRate::Clock::now();
  for (int i = 0; i < kAtOnce; ++i) EXPECT_TRUE(rate.Take("a", now));

  EXPECT_FALSE(rate.Take("a", now));
  EXPECT_FALSE(rate.Take("a", now + 299s));
  EXPECT_TRUE(rate.Take("a", now + 5min));
  EXPECT_FALSE(rate.Take("a", now + 5min));
}

TEST(EventRateTest, ObjectsHaveNothingToDoWithEachOther) {
  EventRate rate;
  const auto now = EventRate::Clock::now();
  for (int i = 0; i < 2 * kAtOnce; ++i) (void)rate.Take("a", now);

  EXPECT_TRUE(rate.Take("b", now));
}

TEST(EventRateTest, AnObjectIsForgottenOnceItMayHaveAllAgain) {
  EventRate rate;
  const auto now = EventRate::Clock::now();
  for (int i = 0; i < 100; ++i) (void)rate.Take("a" + std::to_string(i), now);

  (void)rate.Take("b", now + 6min);

  EXPECT_EQ(rate.size(), 1);
}

}  // namespace
}  // namespace kuryr::controller
