#include "cni/protocol/agent_socket.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace {

bool refuses_listen = false;

}  // namespace

/// Stands before libc's.
extern "C" int listen(int fd, int backlog) noexcept {
  if (!refuses_listen) return static_cast<int>(::syscall(SYS_listen, fd, backlog));
  errno = EOPNOTSUPP;
  return -1;
}

namespace kuryr::cni {
namespace {

class AgentSocketTest : public ::testing::Test {
 protected:
  AgentSocketTest() {
    std::string pattern = ::testing::TempDir() + "socket-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "agent.sock";
  }
  ~AgentSocketTest() override { std::filesystem::remove_all(folder_); }

  /// 0 when somebody listens, else errno.
  [[nodiscard]] int TryConnect() const {
    try {
      (void)ConnectTo(path_, Deadline::After(std::chrono::milliseconds(1)));
      return 0;
    } catch (const std::system_error& e) {
      return e.code().value();
    }
  }
  [[nodiscard]] size_t Files() const {
    const std::filesystem::directory_iterator files(folder_);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(AgentSocketTest, IsNotAtItsPathBeforeItListens) {
  refuses_listen = true;
  EXPECT_THROW((void)ListenAt(path_), std::system_error);
  refuses_listen = false;

  EXPECT_EQ(TryConnect(), ENOENT);
  EXPECT_EQ(Files(), 0U);
}

TEST_F(AgentSocketTest, ComesToItsPathByRename) {
  const UniqueFd events(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(::inotify_add_watch(events.get(), folder_.c_str(), IN_ALL_EVENTS), 0);

  const UniqueFd listener = ListenAt(path_);

  alignas(inotify_event) char buffer[4096];
  const ssize_t size = ::read(events.get(), buffer, sizeof buffer);
  uint32_t of_the_socket = 0;
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    if (event->len > 0 && path_.filename() == event->name) of_the_socket |= event->mask;
    at += static_cast<ssize_t>(sizeof *event + event->len);
  }
  EXPECT_EQ(of_the_socket, uint32_t{IN_MOVED_TO});
}

TEST_F(AgentSocketTest, TheStatusSocketStandsBesideIt) {
  EXPECT_EQ(StatusSocketOf("/run/a/b.sock"), "/run/a/b-status.sock");
  EXPECT_EQ(StatusSocketOf("/run/a.sock/b"), "/run/a.sock/b-status.sock");
}

TEST_F(AgentSocketTest, ReplacesOneThatNobodyListensOn) {
  (void)ListenAt(path_);
  EXPECT_EQ(TryConnect(), ECONNREFUSED);

  const UniqueFd listener = ListenAt(path_);

  EXPECT_EQ(TryConnect(), 0);
  struct stat file = {};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
}

TEST_F(AgentSocketTest, ASecondListenerIsRefusedAndTheFirstGoesOn) {
  const UniqueFd listener = ListenAt(path_);

  try {
    (void)ListenAt(path_);
    FAIL() << "two listeners";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code().value(), EADDRINUSE);
  }

  EXPECT_EQ(TryConnect(), 0);
  EXPECT_EQ(Files(), 1U);
}

TEST_F(AgentSocketTest, WithAFullBacklogConnectingHasADeadlineAndTheListenerIsKnown) {
  const UniqueFd listener = ListenAt(path_);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const UniqueFd first = ConnectTo(path_, Deadline::After(std::chrono::seconds(10)));

  EXPECT_EQ(TryConnect(), ETIMEDOUT);

  EXPECT_THROW((void)ListenAt(path_), std::system_error);
  const UniqueFd taken(::accept(listener.get(), nullptr, nullptr));
  EXPECT_EQ(TryConnect(), 0);
}

TEST_F(AgentSocketTest, WhereItCannotBeNothingIsLeft) {
  std::filesystem::create_directory(path_);

  EXPECT_THROW((void)ListenAt(path_), std::system_error);

  EXPECT_EQ(Files(), 1U);
}

}  // namespace
}  // namespace kuryr::cni
