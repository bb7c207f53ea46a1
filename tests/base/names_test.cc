#include "base/names.h"

#include <gtest/gtest.h>

namespace kuryr {
namespace {

TEST(NearestNameTest, FindsWhatDiffersInFewLetters) {
  const std::vector<std::string> names = {"status", "orphans", "adopt", "policy"};
  EXPECT_EQ(NearestName("statsu", names), "status");  // two letters in each other's place
  EXPECT_EQ(NearestName("orphan", names), "orphans");
  EXPECT_EQ(NearestName("adoptt", names), "adopt");
  EXPECT_EQ(NearestName("palicy", names), "policy");
}

TEST(NearestNameTest, FindsNothingInAnotherWord) {
  EXPECT_EQ(NearestName("trace", {"status", "orphans"}), "");
  EXPECT_EQ(NearestName("", {"status"}), "");
  EXPECT_EQ(NearestName("status", {}), "");
  EXPECT_EQ(NearestName(std::string(100'000, 's'), {"status"}), "");
}

TEST(NearestNameTest, FindsNoMoreThanTheMostLetters) {
  EXPECT_EQ(NearestName("nodes_subnets_driver", {"pod_subnets_driver"}), "pod_subnets_driver");
  EXPECT_EQ(NearestName("nodes_subnets_driver", {"pod_subnets_driver"}, 2), "");
}

}  // namespace
}  // namespace kuryr
