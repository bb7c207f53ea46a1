#include "base/unix_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace kuryr {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::system_error FailureAt(const std::string& path) {
  try {
    (void)ConnectToUnix(path);
  } catch (const std::system_error& e) {
    return e;
  }
  return std::system_error(std::error_code(), "connected");
}

TEST(UnixSocketTest, APathThatIsTooLongIsNamedWithTheLimit) {
  const std::string path = "/" + std::string(107, 'x');

  const std::system_error failure = FailureAt(path);

  EXPECT_EQ(failure.code().value(), ENAMETOOLONG);
  EXPECT_THAT(failure.what(), AllOf(HasSubstr(path), HasSubstr("at most 107 bytes")));
}

TEST(UnixSocketTest, TheLongestPathIsAnAddress) {
  EXPECT_EQ(FailureAt("/" + std::string(106, 'x')).code().value(), ENOENT);
}

}  // namespace
}  // namespace kuryr
