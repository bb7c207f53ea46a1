#include "watcher/refusals.h"

#include <gtest/gtest.h>

namespace kuryr::watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Refusals::Clock::time_point kStart{seconds(1000)};

TEST(RefusalsTest, ManyInAShortTimeHaveNotLasted) {
  Refusals refusals(seconds(10));
  for (int i = 0; i < 20; ++i) refusals.Add(kStart + milliseconds(499) * i);

  EXPECT_FALSE(refusals.lasted());
}

TEST(RefusalsTest, TwoHaveNotLastedHoweverFarApart) {
  Refusals refusals(seconds(10));
  refusals.Add(kStart);
  refusals.Add(kStart + seconds(100));

  EXPECT_FALSE(refusals.lasted());
}

TEST(RefusalsTest, ThreeOverTheGraceHaveLasted) {
  Refusals refusals(seconds(10));
  for (const int second : {0, 5, 10}) refusals.Add(kStart + seconds(second));

  EXPECT_TRUE(refusals.lasted());
}

TEST(RefusalsTest, AnythingElseInBetweenStartsAnew) {
  Refusals refusals(seconds(10));
  for (const int second : {0, 5}) refusals.Add(kStart + seconds(second));
  refusals.Clear();
  refusals.Add(kStart + seconds(10));

  EXPECT_FALSE(refusals.lasted());
  EXPECT_EQ(refusals.tries(), 1U);
}

}  // namespace
}  // namespace kuryr::watcher
