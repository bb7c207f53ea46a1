#include "watcher/connection_guard.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace kuryr::watcher {
namespace {

using Clock = ConnectionGuard::Clock;

class ConnectionGuardTest : public ::testing::Test {
 protected:
  ConnectionGuardTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_ = UniqueFd(ends[0]);
    peer_ = UniqueFd(ends[1]);
    guard_.Adopt(ours_.get());
  }

  void WaitUntilCut() {
    char byte = 0;
    EXPECT_EQ(::read(peer_.get(), &byte, 1), 0);
  }

  UniqueFd ours_;
  UniqueFd peer_;
  ConnectionGuard guard_;
};

TEST_F(ConnectionGuardTest, DeadlineThatHasPassedIsNotMoved) {
  guard_.CutAt(Clock::now());
  WaitUntilCut();

  guard_.MoveTo(Clock::now() + std::chrono::hours(1));

  EXPECT_TRUE(guard_.timed_out());
}

TEST_F(ConnectionGuardTest, NextRequestHasADeadlineOfItsOwn) {
  guard_.CutAt(Clock::now());
  WaitUntilCut();

  guard_.CutAt(Clock::now() + std::chrono::hours(1));

  EXPECT_FALSE(guard_.timed_out());
}

/// Uses no fixture: the sanitizer checks objects through a pipe, and this test leaves no descriptor
/// for one.
TEST(ConnectionGuardLimitTest, SocketThatCannotBeCutIsNotConnected) {
  ConnectionGuard guard;
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none_left = before;
  none_left.rlim_cur = static_cast<rlim_t>(socket.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  guard.Adopt(socket.get());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);

  const sockaddr_un address{.sun_family = AF_UNIX, .sun_path = "/nowhere"};
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            -1);
  EXPECT_EQ(errno, ENOTSOCK);
}

}  // namespace
}  // namespace kuryr::watcher
