#include "watcher/connection_guard.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

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

}  // namespace
}  // namespace kuryr::watcher
