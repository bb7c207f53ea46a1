#include "base/turn_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace kuryr {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class TurnQueueTest : public ::testing::Test {
 protected:
  void Push(const std::vector<std::pair<std::string, int>>& values) {
    for (const auto& [owner, value] : values) queue_.Push(owner, value);
  }
  std::vector<int> PopAll() {
    std::vector<int> values;
    while (!queue_.empty()) values.push_back(queue_.Pop());
    return values;
  }

  TurnQueue<std::string, int> queue_;
};

TEST_F(TurnQueueTest, OwnersTakeTurnsAndKeepTheirOrder) {
  Push({{"many", 1}, {"many", 2}, {"many", 3}, {"few", 10}, {"other", 20}, {"other", 21}});

  EXPECT_EQ(queue_.size(), 6U);
  EXPECT_THAT(PopAll(), ElementsAre(1, 10, 20, 2, 21, 3));
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(TurnQueueTest, OneWhoComesBackWaitsBehindTheOthers) {
  Push({{"one", 1}, {"one", 2}, {"other", 10}});
  EXPECT_EQ(queue_.Pop(), 1);
  Push({{"third", 20}, {"one", 3}});

  EXPECT_THAT(PopAll(), ElementsAre(10, 2, 20, 3));
}

TEST_F(TurnQueueTest, RemovedOnesAreGone) {
  Push({{"one", 1}, {"one", 2}, {"other", 10}});
  queue_.Remove("one", 1);
  queue_.Remove("other", 10);
  queue_.Remove("other", 11);
  queue_.Remove("nobody", 1);

  EXPECT_EQ(queue_.size(), 1U);
  EXPECT_THAT(PopAll(), ElementsAre(2));
}

TEST_F(TurnQueueTest, FirstOnesOfAll) {
  Push({{"one", 1}, {"one", 2}, {"other", 10}});
  std::vector<int> first;
  queue_.ForEachFirst([&](int value) { first.push_back(value); });

  EXPECT_THAT(first, UnorderedElementsAre(1, 10));
}

}  // namespace
}  // namespace kuryr
