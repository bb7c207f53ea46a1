#include "tests/support/subprocess.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <system_error>
#include <thread>

namespace kuryr::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Property;

UniqueFd PidFdOf(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool EndsSoon(const UniqueFd& pidfd) {
  pollfd end{.fd = pidfd.get(), .events = POLLIN};
  return ::poll(&end, 1, 5000) == 1;
}

TEST(SubprocessTest, ResultHasStatusAndBothOutputs) {
  const auto result = RunProgram({.argv = {"sh", "-c", "echo out; echo err >&2; exit 7"}});

  EXPECT_EQ(result.status, 7);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
}

TEST(SubprocessTest, InputIsReadToItsEnd) {
  const std::string input(200000, 'x');

  EXPECT_EQ(RunProgram({.argv = {"cat"}, .input = input}).out, input);
}

TEST(SubprocessTest, OutputLargerThanThePipeIsWhole) {
  const auto result = RunProgram({.argv = {"head", "-c", "5000000", "/dev/zero"}});

  EXPECT_EQ(result.out.size(), 5000000U);
}

TEST(SubprocessTest, EnvironmentIsExactlyTheGivenOne) {
  const auto result = RunProgram({.argv = {"env"}, .env = {{{"CNI_COMMAND", "ADD"}}}});

  EXPECT_EQ(result.out, "CNI_COMMAND=ADD\n");
}

TEST(SubprocessTest, EndBySignalIsTheShellsStatus) {
  EXPECT_EQ(RunProgram({.argv = {"sh", "-c", "kill -TERM $$"}}).status, 128 + SIGTERM);
}

TEST(SubprocessTest, MissingProgramIsAnError) {
  EXPECT_THROW((void)RunProgram({.argv = {"no-such-program"}}), std::system_error);
  EXPECT_THROW((void)RunProgram({.argv = {"/no/such/program"}}), std::system_error);
  EXPECT_THROW((void)RunProgram({.argv = {"/etc/passwd"}}), std::system_error);
}

TEST(SubprocessTest, TimeoutTellsWhatWasWritten) {
  EXPECT_THAT(
      [] { (void)RunProgram({.argv = {"sh", "-c", "echo begun; exec sleep 1000"}}, 200ms); },
      Throws<std::system_error>(AllOf(Property(&std::system_error::code, std::errc::timed_out),
                                      Property(&std::system_error::what, HasSubstr("begun")))));
}

TEST(SubprocessTest, WaitForOutputSeesItComeAndSeesTheEnd) {
  Process process({.argv = {"sh", "-c",
                            "trap 'echo stopping; exit 0' TERM; echo ready >&2; "
                            "sleep 1000 & wait"}});

  process.WaitForOutput("ready");
  process.Signal(SIGTERM);
  process.WaitForOutput("stopping");

  EXPECT_EQ(process.Wait().status, 0);
  EXPECT_THAT(
      [&] { process.WaitForOutput("more"); },
      Throws<std::system_error>(Property(&std::system_error::code, std::errc::broken_pipe)));
}

TEST(SubprocessTest, DestructionKillsTheChild) {
  UniqueFd child;
  {
    const Process process({.argv = {"sleep", "1000"}});
    child = PidFdOf(process.id());
  }

  EXPECT_TRUE(EndsSoon(child));
}

TEST(SubprocessTest, GrandchildrenEndWithTheChild) {
  const auto result = RunProgram({.argv = {"sh", "-c", "sleep 1000 & echo $!"}}, 5s);

  const UniqueFd grandchild = PidFdOf(static_cast<pid_t>(std::stol(result.out)));
  EXPECT_TRUE(!grandchild || EndsSoon(grandchild));
}

TEST(SubprocessTest, ChildEndsWithTheThreadThatStartedIt) {
  std::optional<Process> process;

  std::thread([&] { process.emplace(Command{.argv = {"sleep", "1000"}}); }).join();

  EXPECT_EQ(process->Wait(5s).status, 128 + SIGKILL);
}

}  // namespace
}  // namespace kuryr::test
