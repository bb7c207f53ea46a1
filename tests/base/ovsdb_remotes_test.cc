#include "base/ovsdb_remotes.h"

#include <gmock/gmock.h>

namespace kuryr {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OvsdbRemotesTest, ServersThatOthersMayUseWithoutAKeyAreFound) {
  EXPECT_THAT(FindUnprotected("tcp:10.0.0.1:6641, tcp:[fd00::1]:6641,ssl:10.0.0.3:6641"),
              ElementsAre("tcp:10.0.0.1:6641", "tcp:[fd00::1]:6641"));
}

TEST(OvsdbRemotesTest, ServersOfTheHostAreItsOwn) {
  EXPECT_THAT(FindUnprotected("unix:/run/a.sock,tcp:127.0.0.1:6641,tcp:[::1]:6641"), IsEmpty());
  EXPECT_THAT(FindUnprotected(""), IsEmpty());
}

}  // namespace
}  // namespace kuryr
