#include "base/error.h"

#include <gtest/gtest.h>

#include <system_error>

namespace kuryr {
namespace {

TEST(ParseErrorTest, SaysPathAndReason) {
  const ParseError error("$.mtu", "found \"x\"");

  EXPECT_STREQ(error.what(), "$.mtu: found \"x\"");
  EXPECT_EQ(error.path(), "$.mtu");
  EXPECT_EQ(error.reason(), "found \"x\"");
}

TEST(ThrowErrnoTest, KeepsTheNumberAndNamesTheObject) {
  try {
    ThrowErrno(ENOENT, "open /run/kuryr");
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(std::string(e.what()).substr(0, 15), "open /run/kuryr");
  }
}

TEST(PrintableTest, EscapesAndCuts) {
  EXPECT_EQ(Printable("br-int"), "br-int");
  EXPECT_EQ(Printable("a\n\x1b\xff"), "a\\x0a\\x1b\\xff");
  EXPECT_EQ(Printable(std::string(100, 'x'), 10), "xxxxxxxxxx...");
}

}  // namespace
}  // namespace kuryr
