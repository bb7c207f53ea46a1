#include "watcher/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kuryr::watcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> ElementsOf(std::string_view text) {
  std::vector<std::string> elements;
  if (!ForEachJsonText(text, [&](std::string_view one) { elements.emplace_back(one); }))
    elements.emplace_back("no end");
  return elements;
}

TEST(JsonTextTest, AValueIsFoundWhereverItStandsAndWhateverStandsBefore) {
  constexpr std::string_view kText = R"({"x": "}\"{", "n" :-1.5e3, "b":[{"a":"no"},"\\"],
                                         "a" : { "b":{}, "c" : ["]", {}] }, "c":"no"})";

  EXPECT_EQ(FindJsonText(kText, {"a", "c"}), R"(["]", {}])");
  EXPECT_EQ(FindJsonText(kText, {"n"}), "-1.5e3");
  EXPECT_EQ(FindJsonText(kText, {"x"}), R"("}\"{")");
  EXPECT_EQ(FindJsonText(kText, {"a", "x"}), std::nullopt);
  EXPECT_EQ(FindJsonText(kText, {"b", "a"}), std::nullopt);
}

TEST(JsonTextTest, ElementsComeOneByOne) {
  EXPECT_THAT(ElementsOf(R"( [ {"a":[1,2]} ,"x,y", [] , 7 ] )"),
              ElementsAre(R"({"a":[1,2]})", R"("x,y")", "[]", "7"));
  EXPECT_THAT(ElementsOf("[ ]"), IsEmpty());
}

TEST(JsonTextTest, WhatHasNoEndIsNotReadBeyondIt) {
  for (const char* text : {"", "[", "[1", "[1,", "[{", "[\"", "[\"\\", "{}", "[1}", "[1 2]"})
    EXPECT_EQ(ElementsOf(text).back(), "no end") << text;
  for (const char* text : {"", "{", "{\"a", "{\"a\"", "{\"a\":", "[]", "{\"b\":1 \"a\":2}"})
    EXPECT_EQ(FindJsonText(text, {"a"}).value_or(""), "") << text;
}

TEST(JsonTextTest, OnlyTheValueIsTakenOut) {
  EXPECT_EQ(WithNullAt(R"({"a":{"b":[1,{}],"c":2}})", {"a", "b"}), R"({"a":{"b":null,"c":2}})");
  EXPECT_EQ(WithNullAt(R"({"a":1})", {"b"}), R"({"a":1})");
}

}  // namespace
}  // namespace kuryr::watcher
