#include "base/uuid.h"

#include <gtest/gtest.h>

#include "base/names.h"

namespace kuryr {
namespace {

TEST(HexTest, ShowsTheLowestDigits) {
  EXPECT_EQ(Hex(0x0123456789abcdef, 16), "0123456789abcdef");
  EXPECT_EQ(Hex(0x0123456789abcdef, 5), "bcdef");
  EXPECT_EQ(Hex(0xa, 4), "000a");
}

TEST(UuidV8Test, VersionAndVariantStandInTheirPlaces) {
  EXPECT_EQ(UuidV8(0, 0), "00000000-0000-8000-a000-000000000000");
  EXPECT_EQ(UuidV8(~uint64_t{0}, ~uint64_t{0}), "ffffffff-ffff-8fff-afff-ffffffffffff");
}

TEST(UuidV8Test, AllOtherBitsAreTheGivenOnes) {
  const std::string uuid = UuidV8(0x0123456789abcdef, 0xfedcba9876543210);

  EXPECT_EQ(uuid, "01234567-89ab-8def-aedc-ba9876543210");
  EXPECT_TRUE(IsUuid(uuid));
}

}  // namespace
}  // namespace kuryr
