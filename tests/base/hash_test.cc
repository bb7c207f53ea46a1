#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/names.h"

namespace kuryr {
namespace {

/// The example of FIPS 180-2, appendix B.1.
TEST(DigestTest, BeginsAsTheStandardsExampleOfSha256) {
  EXPECT_EQ(DigestOf("abc"), "ba7816bf8f01cfea414140de5dae2223");
}

/// Nodes and builds must agree on it: names in use are made of it.
TEST(HashTest, IsFnv1a) { EXPECT_EQ(Hash("a"), 0xaf63dc4c8601ec8cU); }

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
