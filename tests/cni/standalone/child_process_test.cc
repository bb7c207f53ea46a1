#include "cni/standalone/child_process.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <functional>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/event_fd.h"
#include "tests/cni/standalone/fake_delegate.h"

namespace kuryr::cni {
namespace {

using namespace std::chrono_literals;

class ChildProcessTest : public FakeDelegateTest {
 protected:
  /// Its children's children, when they are left alone, become this process's.
  ChildProcessTest() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

  static ChildOutput Run(const std::string& program, const std::string& input = "",
                         const Deadline& deadline = Deadline::After(60s)) {
    return RunChild(program, {"PATH=/usr/bin:/bin"}, input, deadline);
  }
  static std::error_code Failure(const std::function<ChildOutput()>& run) {
    try {
      (void)run();
    } catch (const std::system_error& e) {
      return e.code();
    }
    return {};
  }
  /// Runs the script until it has written the number of a process into $DIR/number, cancels it, and
  /// returns the number.
  [[nodiscard]] pid_t RunUntilNumber(const std::string& script) const {
    const std::string fifo = dir_ / "number";
    if (::mkfifo(fifo.c_str(), 0600) != 0) ThrowErrno("make " + fifo);
    const std::string program = Script(script);
    EventFd cancel;
    pid_t number = 0;
    std::thread reader([&] {
      std::ifstream(fifo) >> number;
      cancel.Set();
    });
    EXPECT_EQ(Failure([&] { return Run(program, "", Deadline::After(60s, cancel.fd())); }),
              std::errc::operation_canceled);
    reader.join();
    return number;
  }
  /// Waits for the end of a grandchild.
  static int SignalThatEnded(pid_t process) {
    int status = 0;
    EXPECT_EQ(::waitpid(process, &status, 0), process);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
};

TEST_F(ChildProcessTest, InputGoesInAndOutputAndStatusComeOut) {
  const ChildOutput output = Run(Script("cat; exit 7"), "text\n");

  EXPECT_EQ(output.out, "text\n");
  EXPECT_EQ(output.status, 7);
}

TEST_F(ChildProcessTest, MoreThanAPipeHoldsGoesThroughBothWays) {
  const std::string input(size_t{1} << 20, 'x');

  EXPECT_EQ(Run(Script("cat"), input).out, input);
}

TEST_F(ChildProcessTest, OutputOfMoreThan1MiBIsNotAwaited) {
  EXPECT_EQ(Failure([&] { return Run(Script("head -c 2097152 /dev/zero; exec sleep 600")); }),
            std::errc::message_size);
}

TEST_F(ChildProcessTest, InputThatIsNotReadIsNoFailure) {
  const std::string input(size_t{1} << 20, 'x');

  const ChildOutput output = Run(Script("exec <&-; echo answer"), input);

  EXPECT_EQ(output.out, "answer\n");
  EXPECT_EQ(output.status, 0);
}

TEST_F(ChildProcessTest, WhatHangsIsKilledWithItsGroup) {
  const pid_t grandchild = RunUntilNumber("sleep 600 & echo $! >$DIR/number; wait");

  EXPECT_EQ(SignalThatEnded(grandchild), SIGKILL);
}

TEST_F(ChildProcessTest, AGrandchildThatHoldsStdoutIsKilled) {
  const pid_t grandchild = RunUntilNumber("sleep 600 & echo answer; echo $! >$DIR/number");

  EXPECT_EQ(SignalThatEnded(grandchild), SIGKILL);
}

TEST_F(ChildProcessTest, OneThatClosedStdoutIsReaped) {
  const pid_t child = RunUntilNumber("exec >&-; echo $$ >$DIR/number; exec sleep 600");

  EXPECT_EQ(::kill(child, 0), -1);
}

TEST_F(ChildProcessTest, NothingIsAwaitedBeyondTheDeadline) {
  for (const char* script : {"exec sleep 600", "sleep 600 & echo answer", "exec >&-; sleep 600"}) {
    const std::string program = Script(script);
    EXPECT_EQ(Failure([&] { return Run(program, "", Deadline::After(100ms)); }),
              std::errc::timed_out)
        << script;
  }
}

TEST_F(ChildProcessTest, ACancelledWaitEndsAtOnce) {
  EventFd cancel;
  cancel.Set();

  EXPECT_EQ(
      Failure([&] { return Run(Script("exec sleep 600"), "", Deadline::After(60s, cancel.fd())); }),
      std::errc::operation_canceled);
  EXPECT_EQ(Failure([&] {
              return Run(Script("exec >&-; exec sleep 600"), "", Deadline::After(60s, cancel.fd()));
            }),
            std::errc::operation_canceled);
}

TEST_F(ChildProcessTest, SignalsAreAsUsualInTheChild) {
  sigset_t term;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, nullptr);

  EXPECT_EQ(Run(Script("kill -TERM $$; exit 0")).status, 128 + SIGTERM);
  EXPECT_EQ(Run(Script("kill -PIPE $$; exit 0")).status, 128 + SIGPIPE);

  ::pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
}

TEST_F(ChildProcessTest, WhatCannotBeExecutedIsSaidSo) {
  EXPECT_EQ(Failure([&] { return Run(dir_ / "none"); }), std::errc::no_such_file_or_directory);
  std::ofstream(dir_ / "text") << "#!/bin/sh\n";
  EXPECT_EQ(Failure([&] { return Run(dir_ / "text"); }), std::errc::permission_denied);
}

}  // namespace
}  // namespace kuryr::cni
