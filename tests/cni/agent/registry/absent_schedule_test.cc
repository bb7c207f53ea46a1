#include "cni/agent/registry/absent_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace kuryr::cni {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Clock = AbsentSchedule::Clock;

constexpr Clock::time_point kStart = Clock::time_point() + hours(1000);

/// When it is asked until `end`, by somebody who always needs it.
std::vector<Clock::time_point> Asked(AbsentSchedule& schedule, Clock::time_point end) {
  std::vector<Clock::time_point> asked;
  for (auto now = kStart; now < end; now = schedule.Next()) {
    schedule.Add(now);
    asked.push_back(now);
  }
  return asked;
}

TEST(AbsentScheduleTest, InNoHourThereAreMoreThanFifteenQuestions) {
  AbsentSchedule schedule;
  const auto asked = Asked(schedule, kStart + hours(30));

  for (auto first = asked.begin(); first != asked.end(); ++first) {
    const auto end = std::find_if(first, asked.end(),
                                  [&](Clock::time_point at) { return at >= *first + hours(1); });
    EXPECT_LE(end - first, 15);
  }
}

TEST(AbsentScheduleTest, WhoNeedsItNeverWaitsForMoreThanFiveMinutes) {
  AbsentSchedule schedule;
  const auto asked = Asked(schedule, kStart + hours(30));

  for (size_t i = 1; i < asked.size(); ++i) EXPECT_LE(asked[i] - asked[i - 1], minutes(5));
  EXPECT_EQ(asked[1] - asked[0], seconds(2));
  EXPECT_EQ(asked[2] - asked[1], seconds(8));
}

TEST(AbsentScheduleTest, WhoNeedsItAfterALongTimeAsksAtOnce) {
  AbsentSchedule schedule;
  schedule.Add(kStart);

  EXPECT_LT(schedule.Next(), kStart + minutes(1));
}

}  // namespace
}  // namespace kuryr::cni
