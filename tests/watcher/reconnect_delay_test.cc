#include "watcher/reconnect_delay.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kuryr::watcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds kAtOnce{0};
constexpr milliseconds kLeast{500};
constexpr milliseconds kFirstMost{1500};

constexpr WatchTry kFailed{.end = ReconnectReason::kUnavailable};
constexpr WatchTry kExpired{.end = ReconnectReason::kExpired, .lasted = seconds(2)};

/// The longest of many delays after failures: likely close to the limit.
milliseconds Longest(ReconnectDelay& delay, const WatchTry& last) {
  milliseconds longest{0};
  for (int i = 0; i < 50; ++i) longest = std::max(longest, delay.After(last));
  return longest;
}

TEST(ReconnectDelayTest, WhatEndedInOrderIsOpenedAtOnce) {
  ReconnectDelay delay;

  EXPECT_EQ(delay.After({.lasted = minutes(5)}), kAtOnce);
}

TEST(ReconnectDelayTest, WhatEndedTooSoonWaits) {
  ReconnectDelay delay;

  EXPECT_GE(delay.After({.lasted = milliseconds(10), .useful = true}), kLeast);
}

TEST(ReconnectDelayTest, FailuresWaitLongerAndLonger) {
  ReconnectDelay delay;

  EXPECT_GE(delay.After(kFailed), kLeast);
  EXPECT_GT(Longest(delay, kFailed), seconds(5));
}

TEST(ReconnectDelayTest, AnEventStartsTheBackoffAnew) {
  ReconnectDelay delay;
  (void)Longest(delay, kFailed);

  WatchTry useful = kFailed;
  useful.useful = true;

  EXPECT_LE(delay.After(useful), kFirstMost);
}

TEST(ReconnectDelayTest, WhatExpiredIsListedAtOnce) {
  ReconnectDelay delay;

  EXPECT_EQ(delay.After(kExpired), kAtOnce);
}

TEST(ReconnectDelayTest, WhatExpiresAgainRightAfterItsListWaitsLongerAndLonger) {
  ReconnectDelay delay;
  (void)delay.After(kExpired);

  EXPECT_GE(delay.After(kExpired), kLeast);
  EXPECT_GT(Longest(delay, kExpired), seconds(5));
}

TEST(ReconnectDelayTest, WhatExpiresAgainAfterAnEventIsListedAtOnce) {
  ReconnectDelay delay;
  (void)delay.After(kExpired);
  WatchTry later = kExpired;
  later.useful = true;

  EXPECT_EQ(delay.After(later), kAtOnce);
}

TEST(ReconnectDelayTest, ARefusalThatMayPassIsTriedAgainWithinTwoSeconds) {
  ReconnectDelay delay;

  EXPECT_LE(Longest(delay, {.end = ReconnectReason::kRefused, .passing = true}), seconds(2));
}

TEST(ReconnectDelayTest, WhatIsAbsentIsAskedForLessAndLessOftenUpToEveryFiveMinutes) {
  constexpr WatchTry kAbsent{.end = ReconnectReason::kAbsent};
  ReconnectDelay delay;

  EXPECT_EQ(delay.After(kAbsent), seconds(2));
  EXPECT_EQ(delay.After(kAbsent), seconds(8));
  EXPECT_EQ(Longest(delay, kAbsent), minutes(5));
  EXPECT_EQ(delay.After(kAbsent), minutes(5));
  delay.ForgetAbsence();
  EXPECT_EQ(delay.After(kAbsent), seconds(2));
}

TEST(ReconnectDelayTest, WhatWasThereMeanwhileIsAskedForSoon) {
  constexpr WatchTry kAbsent{.end = ReconnectReason::kAbsent};
  ReconnectDelay delay;
  (void)Longest(delay, kAbsent);

  (void)delay.After({.lasted = minutes(5)});

  EXPECT_EQ(delay.After(kAbsent), seconds(2));
}

constexpr WatchTry kFallsBack{.end = ReconnectReason::kRefused, .falls_back = true};

TEST(ReconnectDelayTest, FirstFallbacksOfManyNodesAreSpreadOverHalfAMinute) {
  constexpr int kNodes = 1000;
  int early = 0;
  for (int i = 0; i < kNodes; ++i) {
    ReconnectDelay node;
    const milliseconds wait = node.After(kFallsBack);
    EXPECT_GE(wait, kLeast);
    EXPECT_LE(wait, seconds(30));
    if (wait < seconds(10)) ++early;
  }

  // A third is expected; chance moves the number within these bounds.
  EXPECT_GT(early, kNodes / 5);
  EXPECT_LT(early, kNodes / 2);
}

TEST(ReconnectDelayTest, LaterFallbacksWaitForHalfAMinuteAndMore) {
  ReconnectDelay delay;
  (void)delay.After(kFallsBack);

  for (int i = 0; i < 50; ++i) EXPECT_GE(delay.After(kFallsBack), seconds(30));
  EXPECT_GT(Longest(delay, kFallsBack), minutes(2));
  EXPECT_LE(Longest(delay, kFallsBack), minutes(5));
}

TEST(ReconnectDelayTest, AListThatFailedOtherwiseDoesNotEndTheBackoffOfFallbacks) {
  ReconnectDelay delay;
  (void)delay.After(kFallsBack);
  (void)delay.After(kFailed);

  EXPECT_GE(delay.After(kFallsBack), seconds(30));
}

TEST(ReconnectDelayTest, AnEventEndsTheBackoffOfFallbacks) {
  ReconnectDelay delay;
  (void)Longest(delay, kFallsBack);
  WatchTry useful = kExpired;
  useful.useful = true;
  (void)delay.After(useful);

  EXPECT_LE(delay.After(kFallsBack), seconds(30));
}

TEST(ReconnectDelayTest, RetryAfterIsTheLeastUpToTwoMinutes) {
  ReconnectDelay delay;
  WatchTry refused{.end = ReconnectReason::kRefused, .retry_after = seconds(60)};

  EXPECT_GE(delay.After(refused), seconds(60));
  refused.retry_after = seconds(999'999);
  EXPECT_EQ(delay.After(refused), seconds(120));
}

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
