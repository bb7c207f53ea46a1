#include "watcher/list_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "watcher/api_error.h"

namespace kuryr::watcher {
namespace {

using ::testing::ElementsAre;

TEST(ListPageTest, WhatStandsAfterTheItemsCountsAsWell) {
  const ListPage page(
      R"({"apiVersion":"openstack.org/v1","items":[{"a":1},{"b":2}],)"
      R"("kind":"KuryrPortList","metadata":{"continue":"c","resourceVersion":"7"}})");

  EXPECT_EQ(page.item_type().kind, "KuryrPort");
  EXPECT_EQ(page.item_type().api_version, "openstack.org/v1");
  EXPECT_EQ(page.version(), "7");
  EXPECT_EQ(page.continue_token(), "c");
  std::vector<std::string> items;
  page.ForEachItem([&](std::string_view item) { items.emplace_back(item); });
  EXPECT_THAT(items, ElementsAre(R"({"a":1})", R"({"b":2})"));
}

TEST(ListPageTest, HowManyObjectsRemainIsKnownWhereTheServerSaysSo) {
  const auto remaining = [](const std::string& metadata) {
    return ListPage(R"({"kind":"PodList","metadata":)" + metadata + R"(,"items":[]})").remaining();
  };

  EXPECT_EQ(remaining(R"({"continue":"c","remainingItemCount":7})"), 7);
  EXPECT_EQ(remaining(R"({"continue":"c"})"), std::nullopt);
  EXPECT_EQ(remaining(R"({"continue":"c","remainingItemCount":-1})"), std::nullopt);
  EXPECT_EQ(remaining(R"({"continue":"c","remainingItemCount":"7"})"), std::nullopt);
  EXPECT_EQ(remaining(R"({"resourceVersion":"7"})"), 0);
  EXPECT_EQ(remaining("null"), 0);
}

TEST(ListPageTest, SomethingElseThanAListIsRefused) {
  for (const char* text : {"", "[]", R"({"kind":"Pod"})", R"({"kind":"PodList","items":"none"})",
                           R"({"kind":7,"items":[]})", R"({"kind":"PodList","items":[]} x)",
                           R"({"kind":"PodList","items":[{}})", R"({"kind":"PodList","items":[{)",
                           R"({"kind":"PodList","items":[],"items":[]})"})
    EXPECT_THROW(ListPage{text}, ApiError) << text;
}

}  // namespace
}  // namespace kuryr::watcher
