#include "cni/agent/system_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <thread>

#include "base/unique_fd.h"

namespace kuryr::cni {
namespace {

UniqueFd Namespace(const char* name) {
  return UniqueFd(::open((std::string("/proc/self/ns/") + name).c_str(), O_RDONLY | O_CLOEXEC));
}

/// What `call` gives in a process that has given up system calls: 0, or its errno.
int ErrnoOf(const std::function<long()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    GiveUpSystemCalls();
    ::_exit(call() < 0 ? errno : 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST(SystemCallsTest, WhatLeadsOutOfAContainerIsForbidden) {
  const char* nothing = "/nonexistent";
  EXPECT_EQ(ErrnoOf([&] { return ::mount(nothing, nothing, "tmpfs", 0, nullptr); }), EPERM);
  EXPECT_EQ(ErrnoOf([&] { return ::chroot(nothing); }), EPERM);
  EXPECT_EQ(ErrnoOf([&] { return ::execl(nothing, nothing, nullptr); }), EPERM);
  EXPECT_EQ(ErrnoOf([&] { return ::syscall(SYS_finit_module, -1, nothing, 0); }), EPERM);
  EXPECT_EQ(ErrnoOf([&] { return ::syscall(SYS_process_vm_readv, 0, 0, 0, 0, 0, 0); }), EPERM);
  EXPECT_EQ(ErrnoOf([&] { return ::syscall(SYS_bpf, 0, 0, 0); }), EPERM);
}

TEST(SystemCallsTest, NamespacesOfOtherKindsAreForbidden) {
  EXPECT_EQ(ErrnoOf([] { return ::unshare(CLONE_NEWNET); }), EPERM);
  EXPECT_EQ(ErrnoOf([] { return ::setns(Namespace("mnt").get(), CLONE_NEWNS); }), EPERM);
  EXPECT_EQ(ErrnoOf([] { return ::setns(Namespace("net").get(), 0); }), EPERM) << "of any kind";
  EXPECT_EQ(ErrnoOf([] { return ::setns(-1, CLONE_NEWNET); }), EBADF) << "is asked";
  EXPECT_EQ(ErrnoOf([] { return ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }),
            EPERM);
}

TEST(SystemCallsTest, ThreadsAndFilesWork) {
  EXPECT_EQ(
      ErrnoOf([] {
        long result = -1;
        std::thread([&] { result = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC); }).join();
        return result;
      }),
      0);
}

}  // namespace
}  // namespace kuryr::cni
