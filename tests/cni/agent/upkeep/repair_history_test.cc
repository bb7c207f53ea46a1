#include "cni/agent/upkeep/repair_history.h"

#include <gtest/gtest.h>

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;
using binding::DifferenceKind;
using binding::Differences;
using Verdict = RepairHistory::Verdict;

class RepairHistoryTest : public ::testing::Test {
 protected:
  Verdict Judge(const Differences& found, RepairHistory::Clock::duration at) {
    const auto now = RepairHistory::Clock::time_point() + 1h + at;
    const Verdict verdict = history_.Judge(found, now);
    if (verdict == Verdict::kRepair) history_.AddRepair(found, now);
    return verdict;
  }
  [[nodiscard]] bool IsNews(const Differences& found, RepairHistory::Clock::duration at) {
    return history_.IsNews(found, RepairHistory::Clock::time_point() + 1h + at);
  }
  [[nodiscard]] bool Settle(RepairHistory::Clock::duration at) {
    return history_.Settle(RepairHistory::Clock::time_point() + 1h + at);
  }

  bool Fail(const std::string& why, RepairHistory::Clock::duration at) {
    return history_.AddFailure(why, RepairHistory::Clock::time_point() + 1h + at);
  }

  const Differences port_ = {
      {.kind = DifferenceKind::kPort, .what = "tap1", .text = "no port", .live_safe = true}};
  const Differences state_ = {
      {.kind = DifferenceKind::kState, .what = "tap1", .text = "down", .live_safe = true}};
  RepairHistory history_;
};

TEST_F(RepairHistoryTest, ADifferenceThatComesBackThreeTimesInAMinuteIsLeftForFiveMinutes) {
  for (const auto at : {0s, 20s, 40s}) EXPECT_EQ(Judge(port_, at), Verdict::kRepair);

  EXPECT_EQ(Judge(port_, 59s), Verdict::kGiveUp);
  EXPECT_EQ(Judge(port_, 60s), Verdict::kLeave);
  EXPECT_FALSE(Settle(4min)) << "it may come back";
  EXPECT_EQ(Judge(port_, 7min), Verdict::kRepair);
}

TEST_F(RepairHistoryTest, GivingUpIsToldOnce) {
  for (int round = 0; round < 4; ++round) Judge(port_, 0s);

  for (int round = 0; round < 3; ++round) EXPECT_EQ(Judge(port_, 6min), Verdict::kRepair);
  EXPECT_EQ(Judge(port_, 6min), Verdict::kLeave);
}

TEST_F(RepairHistoryTest, DifferencesThatComeRarelyOrAreOthersAreRepaired) {
  for (const auto at : {0s, 20s, 40s, 61s}) EXPECT_EQ(Judge(port_, at), Verdict::kRepair);
  EXPECT_EQ(Judge(state_, 61s), Verdict::kRepair);
}

TEST_F(RepairHistoryTest, IsForgottenAMinuteAfterTheLastRepair) {
  EXPECT_TRUE(Settle(0s));
  Judge(port_, 0s);

  EXPECT_FALSE(Settle(59s));
  EXPECT_TRUE(Settle(60s));
}

TEST_F(RepairHistoryTest, FailedRepairsGrowRarerUntilOneAMinute) {
  RepairHistory::Clock::duration at = 0s;
  for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    (void)Fail("no such datapath", at);
    EXPECT_EQ(Judge(port_, at + wait - 1ms), Verdict::kWait);
    at += wait;
  }

  EXPECT_EQ(Judge(port_, at), Verdict::kRepair);
  (void)Fail("no such datapath", at);
  EXPECT_EQ(Judge(port_, at + 1s), Verdict::kRepair) << "the repair before was done";
}

TEST_F(RepairHistoryTest, WhatIsAsPlannedAgainIsRepairedAtOnce) {
  for (int round = 0; round < 5; ++round) (void)Fail("no such datapath", 0s);

  EXPECT_FALSE(Settle(1s)) << "the failure was told lately";

  EXPECT_EQ(Judge(port_, 1s), Verdict::kRepair);
}

TEST_F(RepairHistoryTest, ReasonOfFailuresIsNewsOnceAndOnceInAMinute) {
  EXPECT_TRUE(Fail("no such datapath", 0s));
  EXPECT_FALSE(Fail("no such datapath", 2min));
  EXPECT_TRUE(Fail("no such bridge", 2min));
  EXPECT_FALSE(Fail("no such datapath", 150s));
}

TEST_F(RepairHistoryTest, WhatStaysTheSameIsNewsOnce) {
  EXPECT_FALSE(IsNews({}, 0s));
  EXPECT_TRUE(IsNews(port_, 0s));
  EXPECT_FALSE(IsNews(port_, 2min));
  EXPECT_TRUE(IsNews(state_, 2min));
  EXPECT_TRUE(Settle(4min));
  EXPECT_TRUE(IsNews(state_, 4min)) << "it was gone in between";
}

TEST_F(RepairHistoryTest, NewsComeOnceInAMinuteHoweverOftenAPodChangesItsInterface) {
  EXPECT_TRUE(IsNews(port_, 0s));
  for (const auto at : {1s, 20s, 40s}) {
    EXPECT_FALSE(IsNews(state_, at));
    EXPECT_FALSE(Settle(at)) << "it is remembered although all is well now";
  }

  EXPECT_TRUE(IsNews(state_, 60s));
}

}  // namespace
}  // namespace kuryr::cni
