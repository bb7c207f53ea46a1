#include "base/mac.h"

#include <gtest/gtest.h>

namespace kuryr {
namespace {

TEST(MacAddressTest, PrintsLowerCaseWithColons) {
  for (const char* const text : {"fa:16:3e:80:d4:21", "FA:16:3E:80:D4:21", "FA-16-3e-80-d4-21"}) {
    const auto mac = MacAddress::Parse(text);

    ASSERT_TRUE(mac) << text;
    EXPECT_EQ(mac->ToString(), "fa:16:3e:80:d4:21");
  }
}

TEST(MacAddressTest, RefusesEverythingElse) {
  for (const char* const text :
       {"", "fa:16:3e:80:d4", "fa:16:3e:80:d4:21:00", "fa:16:3e:80:d4:2", "fa:16-3e:80:d4:21",
        "fa:16:3e:80:d4:2g", "fa 16 3e 80 d4 21", "fa:16:3e:80:d4:+1", "fa163e80d421",
        "fa16.3e80.d421", " fa:16:3e:80:d4:21"}) {
    EXPECT_FALSE(MacAddress::Parse(text)) << text;
  }
}

}  // namespace
}  // namespace kuryr
