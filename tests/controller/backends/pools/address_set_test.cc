#include "controller/backends/pools/address_set.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <set>

namespace kuryr::controller::pools {
namespace {

using std::chrono::seconds;
using Taken = AddressSet::Taken;

constexpr TimePoint kStart{};

Intervals Of(Range range) {
  Intervals all;
  all.Add(range);
  return all;
}

int64_t Small(std::optional<Number> number) { return number ? static_cast<int64_t>(*number) : -1; }

TEST(IntervalsTest, AnyOrderOfAddAndRemoveGivesThatSet) {
  constexpr Number kEnd = 60;
  std::mt19937 random(17);
  std::uniform_int_distribution<int> number(0, static_cast<int>(kEnd) - 1);
  Intervals intervals;
  std::set<Number> model;
  for (int round = 0; round < 5000; ++round) {
    Range range = {static_cast<Number>(number(random)), static_cast<Number>(number(random))};
    if (range.last < range.first) std::swap(range.first, range.last);
    if (round % 3 != 0) range.last = std::min(range.last, range.first + 4);
    const bool add = random() % 2 == 0;
    if (add) {
      intervals.Add(range);
      for (Number n = range.first; n <= range.last; ++n) model.insert(n);
    } else {
      intervals.Remove(range);
      for (Number n = range.first; n <= range.last; ++n) model.erase(n);
    }

    ASSERT_EQ(Small(intervals.size()), static_cast<int64_t>(model.size()));
    for (Number n = 0; n < kEnd; ++n) {
      const auto next = model.lower_bound(n);
      ASSERT_EQ(Small(intervals.NextAt(n)), next == model.end() ? -1 : Small(*next));
      ASSERT_EQ(intervals.Contains(n), model.contains(n));
    }
    size_t pieces = 0;
    for (const Number n : model) pieces += model.contains(n + 1) ? 0 : 1;
    ASSERT_EQ(intervals.pieces(), pieces);
    Number index = 0;
    for (const Number n : model) ASSERT_EQ(Small(intervals.At(index++)), Small(n));
    ASSERT_EQ(intervals.Overlaps(range), add);
  }
}

TEST(AddressSetTest, BeginsWhereTheSeedSaysAndGivesEachOnce) {
  AddressSet set(Of({10, 13}), 6);

  EXPECT_EQ(Small(set.TakeNext(kStart)), 12);
  EXPECT_EQ(Small(set.TakeNext(kStart)), 13);
  EXPECT_EQ(Small(set.TakeNext(kStart)), 10);
  EXPECT_EQ(Small(set.TakeNext(kStart)), 11);
  EXPECT_EQ(Small(set.TakeNext(kStart)), -1);
}

TEST(AddressSetTest, WhatCameBackIsTakenLast) {
  AddressSet set(Of({10, 13}), 0);
  EXPECT_EQ(Small(set.TakeNext(kStart)), 10);

  set.GiveBack(10);

  EXPECT_EQ(Small(set.TakeNext(kStart)), 11);
  EXPECT_EQ(Small(set.TakeNext(kStart)), 12);
  EXPECT_EQ(Small(set.TakeNext(kStart)), 13);
  EXPECT_EQ(Small(set.TakeNext(kStart)), 10);
}

TEST(AddressSetTest, ARestingOneIsTakenAfterItsRest) {
  AddressSet set(Of({10, 10}), 0);
  (void)set.TakeNext(kStart);
  set.Rest(10, kStart + seconds(30), 1);

  EXPECT_EQ(Small(set.TakeNext(kStart + seconds(29))), -1);
  EXPECT_EQ(set.Take(10, kStart + seconds(29), 2), Taken::kResting);
  EXPECT_EQ(set.resting(kStart + seconds(29)), 1U);
  EXPECT_EQ(Small(set.taken()), 0);
  EXPECT_EQ(set.NextSpare(), kStart + seconds(30));
  EXPECT_EQ(set.resting(kStart + seconds(30)), 0U);
  EXPECT_EQ(Small(set.TakeNext(kStart + seconds(30))), 10);
}

TEST(AddressSetTest, SpareOnesAreTakenLastTheLongestRestingFirst) {
  AddressSet set(Of({10, 13}), 0, seconds(25));
  for (int i = 0; i < 3; ++i) (void)set.TakeNext(kStart);
  for (const int number : {12, 10, 11})
    set.Rest(static_cast<Number>(number), kStart + seconds(30 + 12 - number), 1);

  EXPECT_EQ(Small(set.TakeNext(kStart + seconds(4))), 13);
  EXPECT_EQ(Small(set.TakeNext(kStart + seconds(4))), -1);
  EXPECT_EQ(set.NextSpare(), kStart + seconds(5));
  EXPECT_EQ(Small(set.available(kStart + seconds(6))), 2);
  EXPECT_EQ(set.resting(kStart + seconds(6)), 3U);
  for (const int number : {12, 11, 10, -1})
    EXPECT_EQ(Small(set.TakeNext(kStart + seconds(7))), number);
  EXPECT_EQ(Small(set.taken()), 4);
}

TEST(AddressSetTest, SpareOneThatIsGivenBackIsSpare) {
  AddressSet set(Of({10, 10}), 0, seconds(25));
  (void)set.TakeNext(kStart);
  set.Rest(10, kStart + seconds(30), 1);
  ASSERT_EQ(Small(set.TakeNext(kStart + seconds(5))), 10);

  set.GiveBack(10);

  EXPECT_EQ(set.resting(kStart + seconds(6)), 1U);
  EXPECT_EQ(set.Take(10, kStart + seconds(6), 2), Taken::kResting);
  EXPECT_EQ(Small(set.TakeNext(kStart + seconds(6))), 10);
  EXPECT_EQ(Small(set.available(kStart + seconds(31))), 0);
}

TEST(AddressSetTest, WhoHadItLastNeedNotWait) {
  AddressSet set(Of({10, 10}), 0);
  (void)set.TakeNext(kStart);
  set.Rest(10, kStart + seconds(30), 1);

  EXPECT_EQ(set.Take(10, kStart + seconds(1), 1), Taken::kYes);
  EXPECT_EQ(Small(set.taken()), 1);
  EXPECT_EQ(Small(set.TakeNext(kStart + seconds(31))), -1);
}

TEST(AddressSetTest, ASecondRestIsAsLongAsTheFirst) {
  AddressSet set(Of({10, 10}), 0);
  (void)set.TakeNext(kStart);
  set.Rest(10, kStart + seconds(30), 1);
  ASSERT_EQ(set.Take(10, kStart + seconds(20), 1), Taken::kYes);

  set.Rest(10, kStart + seconds(50), 1);

  EXPECT_EQ(Small(set.TakeNext(kStart + seconds(49))), -1);
  EXPECT_EQ(Small(set.TakeNext(kStart + seconds(50))), 10);
}

TEST(AddressSetTest, OneGivenBackGoesOnResting) {
  AddressSet set(Of({10, 10}), 0);
  (void)set.TakeNext(kStart);
  set.Rest(10, kStart + seconds(30), 1);
  ASSERT_EQ(set.Take(10, kStart + seconds(1), 1), Taken::kYes);

  set.GiveBack(10);

  EXPECT_EQ(Small(set.TakeNext(kStart + seconds(29))), -1);
  EXPECT_EQ(Small(set.TakeNext(kStart + seconds(30))), 10);
}

TEST(AddressSetTest, ACertainOneIsTakenOnce) {
  AddressSet set(Of({10, 13}), 0);

  EXPECT_EQ(set.Take(12, kStart, 1), Taken::kYes);
  EXPECT_EQ(set.Take(12, kStart, 1), Taken::kNotFree);
  EXPECT_EQ(set.Take(14, kStart, 1), Taken::kNotHere);
}

TEST(AddressSetTest, AnIpv6NetworkOfSixtyFourBitsIsNoWork) {
  const IpNetwork cidr = IpNetwork::Parse("fd00::/64").value();
  AddressSet set(Of(RangeOf(cidr)), Number{0x123456789abcdef} << 64 | 5);

  const auto first = set.TakeNext(kStart);
  const auto second = set.TakeNext(kStart);

  ASSERT_TRUE(first && second);
  EXPECT_TRUE(cidr.Contains(AddressOf(*first)));
  EXPECT_TRUE(*second == *first + 1);
}

}  // namespace
}  // namespace kuryr::controller::pools
