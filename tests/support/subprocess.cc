#include "tests/support/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "base/deadline.h"
#include "base/error.h"

namespace kuryr::test {
namespace {

constexpr int kPipeBytes = 1 << 20;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) ThrowErrno("make a pipe");
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  if (::fcntl(pipe.read.get(), F_SETPIPE_SZ, kPipeBytes) < 0) ThrowErrno("enlarge a pipe");
  return pipe;
}

/// The reading end of a pipe that holds `text` and then ends.
UniqueFd PipeWith(const std::string& text) {
  Pipe pipe = MakePipe();
  if (text.size() > kPipeBytes) ThrowErrno(E2BIG, "input of a child");
  if (::write(pipe.write.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    ThrowErrno("write the input of a child");
  return std::move(pipe.read);
}

std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = ::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/sbin:/usr/bin:/sbin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    folder.append("/").append(name);
    if (::access(folder.c_str(), X_OK) == 0) return folder;
  }
  ThrowErrno(ENOENT, "find program " + name);
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The data that a child needs between fork and exec, where it must not allocate.
struct Exec {
  const char* program;
  char** argv;
  char** env;
  int in;
  int out;
  int err;
  int failure;  ///< gets the errno of a failed exec
  pid_t parent;
};

[[noreturn]] void BecomeProgram(const Exec& exec) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  static_cast<void>(::signal(SIGPIPE, SIG_DFL));
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before the signal was asked for.
  if (::getppid() == exec.parent && ::dup2(exec.in, 0) == 0 && ::dup2(exec.out, 1) == 1 &&
      ::dup2(exec.err, 2) == 2) {
    ::execve(exec.program, exec.argv, exec.env);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(exec.failure, &error, sizeof error);
  ::_exit(127);
}

/// Appends the bytes that can be read without waiting; false at the end of the stream.
bool Drain(const UniqueFd& fd, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  text.append(buffer.data(), static_cast<size_t>(count));
  return count > 0;
}

}  // namespace

Process::Process(const Command& command) : name_(command.argv.at(0)) {
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> variables;
  for (const auto& [key, value] : command.env.value_or(std::map<std::string, std::string>()))
    variables.emplace_back(key).append("=").append(value);
  const std::string program = FindProgram(name_);
  std::vector<char*> argv = Pointers(arguments);
  std::vector<char*> env = Pointers(variables);
  const UniqueFd in = PipeWith(command.input);
  Pipe out = MakePipe();
  Pipe err = MakePipe();
  Pipe failure = MakePipe();
  const Exec exec{.program = program.c_str(),
                  .argv = argv.data(),
                  .env = command.env ? env.data() : ::environ,
                  .in = in.get(),
                  .out = out.write.get(),
                  .err = err.write.get(),
                  .failure = failure.write.get(),
                  .parent = ::getpid()};

  pid_ = ::vfork();
  if (pid_ < 0) ThrowErrno("vfork");
  if (pid_ == 0) BecomeProgram(exec);

  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  failure.write.reset();
  int error = 0;
  if (::read(failure.read.get(), &error, sizeof error) > 0) {
    ::waitpid(pid_, nullptr, 0);
    ThrowErrno(error, "execute " + program);
  }
  for (const Pipe* pipe : {&out, &err}) ::fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK);
  out_fd_ = std::move(out.read);
  err_fd_ = std::move(err.read);
}

Process::~Process() {
  if (!pidfd_ || status_) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::Signal(int signal) {
  // Uses the descriptor: once a child was waited for, another process may have its id.
  if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0) != 0)
    ThrowErrno("signal " + name_);
}

/// Waits for output or the end; false once the child has ended and its output is read.
bool Process::ReadOutput(TimePoint deadline) {
  std::array<pollfd, 3> fds{{{.fd = pidfd_.get(), .events = POLLIN},
                             {.fd = out_fd_.get(), .events = POLLIN},
                             {.fd = err_fd_.get(), .events = POLLIN}}};
  const Deadline left{.at = deadline};
  const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(left.Remaining().count()));
  if (ready < 0 && errno != EINTR) ThrowErrno("wait for " + name_);
  if (ready == 0) ThrowErrno(ETIMEDOUT, Describe("is not done"));
  if (fds[1].revents != 0 && !Drain(out_fd_, out_)) out_fd_.reset();
  if (fds[2].revents != 0 && !Drain(err_fd_, err_)) err_fd_.reset();
  // A grandchild may keep the pipes open: only the child's end counts.
  return fds[0].revents == 0 || ((fds[1].revents | fds[2].revents) & POLLIN) != 0;
}

std::string Process::Describe(const std::string& failure) const {
  const auto tail = [](const std::string& text) {
    return text.substr(text.size() - std::min<size_t>(text.size(), 4096));
  };
  return name_ + " " + failure + "; stdout: " + tail(out_) + "; stderr: " + tail(err_);
}

void Process::WaitForOutput(std::string_view text, std::chrono::milliseconds timeout) {
  const TimePoint deadline = std::chrono::steady_clock::now() + timeout;
  const auto found = [&] {
    return out_.find(text) != std::string::npos || err_.find(text) != std::string::npos;
  };
  while (!found()) {
    if (!ReadOutput(deadline) && !found()) ThrowErrno(EPIPE, Describe("ended"));
  }
}

void Process::ForgetOutput() {
  for (const UniqueFd* fd : {&out_fd_, &err_fd_}) {
    std::string text;
    for (size_t before = 1; before > 0 && Drain(*fd, text); text.clear()) before = text.size();
  }
}

ProcessResult Process::Wait(std::chrono::milliseconds timeout) {
  const TimePoint deadline = std::chrono::steady_clock::now() + timeout;
  while (!status_ && ReadOutput(deadline)) {
  }
  if (!status_) {
    int status = 0;
    ::kill(-pid_, SIGKILL);  // its remaining group, while the id is still its own
    if (::waitpid(pid_, &status, 0) != pid_) ThrowErrno("wait for " + name_);
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return {.status = *status_, .out = out_, .err = err_};
}

ProcessResult RunProgram(const Command& command, std::chrono::milliseconds timeout) {
  return Process(command).Wait(timeout);
}

}  // namespace kuryr::test
