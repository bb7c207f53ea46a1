#include "base/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kuryr {
namespace {

TEST(BackoffTest, GrowsWithinItsBoundsAndStartsAnewAfterReset) {
  using std::chrono::milliseconds;
  Backoff backoff(milliseconds(10), milliseconds(100));

  milliseconds last(10);
  for (int i = 0; i < 100; ++i) {
    const milliseconds next = backoff.Next();
    EXPECT_GE(next, milliseconds(10));
    EXPECT_LE(next, std::min(milliseconds(100), last * 3));
    last = next;
  }
  backoff.Reset();

  EXPECT_LE(backoff.Next(), milliseconds(30));
}

}  // namespace
}  // namespace kuryr
