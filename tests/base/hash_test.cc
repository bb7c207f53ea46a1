#include "base/hash.h"

#include <gtest/gtest.h>

namespace kuryr {
namespace {

/// The example of FIPS 180-2, appendix B.1.
TEST(DigestTest, BeginsAsTheStandardsExampleOfSha256) {
  EXPECT_EQ(DigestOf("abc"), "ba7816bf8f01cfea414140de5dae2223");
}

/// Nodes and builds must agree on it: names in use are made of it.
TEST(HashTest, IsFnv1a) { EXPECT_EQ(Hash("a"), 0xaf63dc4c8601ec8cU); }

}  // namespace
}  // namespace kuryr
