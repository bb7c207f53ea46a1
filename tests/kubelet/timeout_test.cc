#include "kubelet/timeout.h"

#include <gtest/gtest.h>

namespace kuryr::kubelet {
namespace {

using namespace std::chrono_literals;

TEST(TimeoutTest, EveryUnitIsRead) {
  EXPECT_EQ(ParseTimeout("2H"), 2h);
  EXPECT_EQ(ParseTimeout("2M"), 2min);
  EXPECT_EQ(ParseTimeout("2S"), 2s);
  EXPECT_EQ(ParseTimeout("2m"), 2ms);
  EXPECT_EQ(ParseTimeout("2u"), 2us);
  EXPECT_EQ(ParseTimeout("99999999n"), 99'999'999ns);
  EXPECT_GT(ParseTimeout("99999999H"), 24h * 365 * 200);
}

TEST(TimeoutTest, WhatIsNoTimeIsNone) {
  for (const char* text : {"", "S", "2", "2s", "-1S", "+1S", "1.5S", "123456789S", "2 S", "2SS"})
    EXPECT_EQ(ParseTimeout(text), std::nullopt) << text;
}

TEST(TimeoutTest, ATimeIsWrittenInEightDigits) {
  EXPECT_EQ(FormatTimeout(1500ms), "1500m");
  EXPECT_EQ(FormatTimeout(0ms), "0m");
  EXPECT_EQ(FormatTimeout(100'000'000ms), "100000S");
  EXPECT_EQ(FormatTimeout(24h * 365 * 200), "99999999S");
}

}  // namespace
}  // namespace kuryr::kubelet
