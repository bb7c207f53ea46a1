#include "binding/ovs/own_changes.h"

#include <gtest/gtest.h>

namespace kuryr::binding {
namespace {

TEST(OwnChangesTest, AnothersChangeMayHaveRemovedAnyPort) {
  OwnChanges changes;
  EXPECT_FALSE(changes.MayHaveRemoved("tap1", 7, 7));
  EXPECT_TRUE(changes.MayHaveRemoved("tap1", 6, 7));

  changes.Add(7, "");
  changes.Add(9, "");
  EXPECT_FALSE(changes.MayHaveRemoved("tap1", 6, 7));
  EXPECT_TRUE(changes.MayHaveRemoved("tap1", 6, 9)) << "8 is nobody's that is known";
}

TEST(OwnChangesTest, OwnChangeRemovedThePortThatItNames) {
  OwnChanges changes;
  changes.Add(7, "tap1");
  changes.Add(8, "tap2");
  changes.Add(9, "");

  EXPECT_TRUE(changes.MayHaveRemoved("tap1", 6, 9));
  EXPECT_TRUE(changes.MayHaveRemoved("tap2", 6, 9));
  EXPECT_FALSE(changes.MayHaveRemoved("tap3", 6, 9));
}

TEST(OwnChangesTest, WhatComesAfterTheLastIsNotLookedAt) {
  OwnChanges changes;
  changes.Add(7, "");
  changes.Add(8, "tap1");

  EXPECT_FALSE(changes.MayHaveRemoved("tap1", 6, 7));
}

TEST(OwnChangesTest, WhatIsAppliedIsForgotten) {
  OwnChanges changes;
  changes.Add(7, "tap1");
  changes.Add(8, "");

  EXPECT_FALSE(changes.MayHaveRemoved("tap1", 7, 8));
  EXPECT_TRUE(changes.MayHaveRemoved("tap1", 6, 8)) << "7 is not known any more";
}

TEST(OwnChangesTest, OfTooManyWithoutAnswerNoneIsKept) {
  OwnChanges changes;
  for (ConfigNumber number = 1; number <= 1024; ++number) changes.Add(number, "");
  EXPECT_FALSE(changes.MayHaveRemoved("tap1", 0, 1024));

  changes.Add(1025, "");

  EXPECT_TRUE(changes.MayHaveRemoved("tap1", 0, 1025));
}

}  // namespace
}  // namespace kuryr::binding
