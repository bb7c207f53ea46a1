#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace kuryr {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string RefusalOf(std::string_view text, const JsonLimits& limits = {}) {
  try {
    static_cast<void>(ParseJson(text, limits));
    return "accepted";
  } catch (const ParseError& e) {
    return e.what();
  }
}

std::string Nested(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(ParseJsonTest, GivesTheDocumentThatNlohmannGives) {
  for (const char* const text :
       {"null", "true", "0", "-1", "18446744073709551615", "-9223372036854775808", "1.5e3", "\"\"",
        "\"a\\u00e9\\n\\ud83d\\ude00\"", "[]", "{}", " [1, [2, {\"a\": []}], \"x\"] ",
        R"({"b": {"c": [{"d": 1}, {"e": {}}]}, "a": null, "": false, "z": [[], {}]})",
        R"([{"k": 1}, {"k": 2}])"}) {
    EXPECT_EQ(ParseJson(text), json::parse(text)) << text;
  }
}

TEST(ParseJsonTest, RefusesWhatIsNoJsonWithTheOffset) {
  EXPECT_THAT(RefusalOf("{\"a\": tru}"), HasSubstr("$: no JSON at byte 10: "));
  for (const char* const text :
       {"",        " ",      "{",           "[1,]", "{\"a\":1,}", "{a:1}",    "'a'",
        "01",      "1 2",    "{}{}",        "nul",  "NaN",        "Infinity", "1e400",
        "// x\n1", "\"\t\"", "\"\\ud800\"", "+1",   ".5",         "[1}"}) {
    EXPECT_THAT(RefusalOf(text), HasSubstr("$: no JSON at byte ")) << text;
  }
}

TEST(ParseJsonTest, RefusesInvalidUtf8) {
  for (const char* const text : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"",
                                 "\"\xf4\x90\x80\x80\"", "{\"\xc3\": 1}", "\"\xe2\x82\""}) {
    EXPECT_THAT(RefusalOf(text), HasSubstr("ill-formed UTF-8"));
  }
}

TEST(ParseJsonTest, RefusesTextBehindAZeroByte) {
  EXPECT_EQ(RefusalOf(std::string_view("{}\0{", 4)), "$: no JSON at byte 2: zero byte");
  EXPECT_EQ(RefusalOf(std::string_view("\0", 1)), "$: no JSON at byte 0: zero byte");
}

TEST(ParseJsonTest, RefusesDuplicateKeysWithThePathOfTheObject) {
  EXPECT_EQ(RefusalOf(R"({"a":1,"b":2,"a":3})"), "$: key \"a\" stands twice in one object");
  EXPECT_EQ(RefusalOf(R"({"z":1,"m":2,"m":3})"), "$: key \"m\" stands twice in one object");
  EXPECT_EQ(RefusalOf(R"({"x":[0,{"y-y":{"a":{},"a":1}}]})"),
            "$.x[1]['y-y']: key \"a\" stands twice in one object");
  EXPECT_EQ(RefusalOf(R"({"a":1,"\u0061":2})"), "$: key \"a\" stands twice in one object");
  EXPECT_EQ(RefusalOf(R"([{"a":1},{"a":2}])"), "accepted");
}

TEST(ParseJsonTest, KeepsTheDepthLimit) {
  EXPECT_EQ(RefusalOf(Nested(64)), "accepted");
  EXPECT_THAT(RefusalOf(Nested(65)), HasSubstr("[0]: nested deeper than 64 levels"));
  EXPECT_THAT(RefusalOf(std::string(500000, '[')), HasSubstr("nested deeper than 64 levels"));
  EXPECT_EQ(RefusalOf(Nested(3), {.max_depth = 2}), "$[0]: nested deeper than 2 levels");
  EXPECT_EQ(RefusalOf(R"({"a":{"b":{}}})", {.max_depth = 2}), "$.a: nested deeper than 2 levels");
}

TEST(ParseJsonTest, KeepsTheSizeLimit) {
  const std::string just(size_t{1} << 20, ' ');
  EXPECT_EQ(RefusalOf(just.substr(1) + "1"), "accepted");
  EXPECT_EQ(RefusalOf(just + "1"), "$: document of 1048577 bytes, at most 1048576 are accepted");
  EXPECT_EQ(RefusalOf("[]", {.max_bytes = 1}), "$: document of 2 bytes, at most 1 are accepted");
}

TEST(ParseJsonTest, PathIsWhereTheTextStands) {
  try {
    static_cast<void>(ParseJson(R"({"b":{"a":1,"a":2}})", {}, "$.annotations['x/y']"));
    ADD_FAILURE() << "accepted";
  } catch (const ParseError& e) {
    EXPECT_EQ(e.path(), "$.annotations['x/y'].b");
  }
  try {
    static_cast<void>(ParseJson("{", {}, "$.annotations['x/y']"));
    ADD_FAILURE() << "accepted";
  } catch (const ParseError& e) {
    EXPECT_EQ(e.path(), "$.annotations['x/y']");
  }
}

TEST(ParseJsonTest, RefusalsArePrintable) {
  const std::string message = RefusalOf("{\"\\u001b\\n\": 1, \"\\u001b\\n\": 2}");
  EXPECT_EQ(message, "$: key \"\\x1b\\x0a\" stands twice in one object");
  EXPECT_EQ(RefusalOf("[\x1b]").find('\x1b'), std::string::npos);
  EXPECT_LT(RefusalOf("\"" + std::string(100000, 'x') + "\n\"").size(), 400U);
}

TEST(PathStepTest, QuotesWhatIsNoPlainWord) {
  EXPECT_EQ(PathStep("mtu"), ".mtu");
  EXPECT_EQ(PathStep("eth0"), ".eth0");
  EXPECT_EQ(PathStep(""), "['']");
  EXPECT_EQ(PathStep("0a"), "['0a']");
  EXPECT_EQ(PathStep("openstack.org/kuryr-vif"), "['openstack.org/kuryr-vif']");
  EXPECT_EQ(PathStep("a\n"), "['a\\x0a']");
}

TEST(MemberAtTest, IsNullWhereThereIsNone) {
  EXPECT_EQ(MemberAt({{"a", 7}}, "a"), 7);
  EXPECT_TRUE(MemberAt({{"a", 7}}, "b").is_null());
  EXPECT_TRUE(MemberAt("a", "a").is_null());
}

}  // namespace
}  // namespace kuryr
