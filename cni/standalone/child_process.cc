#include "cni/standalone/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <span>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr::cni {
namespace {

constexpr size_t kMostOutput = size_t{1} << 20;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe MakePipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) ThrowErrno("make a pipe");
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

/// Pointers to strings as execve(2) takes them.
std::vector<char*> PointersTo(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Settings of a child: its files, default signals, and a process group or session of its own
/// (`own`: POSIX_SPAWN_SETPGROUP, POSIX_SPAWN_SETSID).
class SpawnSettings {
 public:
  explicit SpawnSettings(int own) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes_, &pipe);
    ::posix_spawnattr_setflags(
        &attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | own));
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  void Dup(int fd, int as) { ::posix_spawn_file_actions_adddup2(&actions_, fd, as); }
  void OpenNull(int as) {
    ::posix_spawn_file_actions_addopen(&actions_, as, "/dev/null", O_WRONLY, 0);
  }
  void CloseFrom(int fd) { ::posix_spawn_file_actions_addclosefrom_np(&actions_, fd); }

  pid_t Spawn(const std::string& program, std::vector<std::string> arguments, char** environment) {
    pid_t pid = -1;
    const int error = ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_,
                                    PointersTo(arguments).data(), environment);
    if (error != 0) ThrowErrno(error, "execute " + Printable(program, 300));
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

[[noreturn]] void ThrowPast(const std::string& program, bool cancelled) {
  throw std::system_error(
      std::make_error_code(cancelled ? std::errc::operation_canceled : std::errc::timed_out),
      "wait for " + Printable(program, 300));
}

int Timeout(const Deadline& deadline) {
  constexpr std::chrono::milliseconds kMost = std::chrono::hours(1);
  return static_cast<int>(std::min(deadline.Remaining(), kMost).count());
}

/// Calls poll(2), and throws at the deadline. When it returns with no descriptor ready, poll was
/// interrupted: call it again.
void Poll(std::span<pollfd> fds, const Deadline& deadline, const std::string& program) {
  const int ready = ::poll(fds.data(), fds.size(), Timeout(deadline));
  if (ready < 0 && errno != EINTR) ThrowErrno("wait for " + Printable(program, 300));
  if (ready == 0 && deadline.Remaining().count() == 0) ThrowPast(program, false);
}

/// A child process. The destructor kills it with its group and reaps it, unless Wait has reaped it.
class Child {
 public:
  explicit Child(pid_t pid)
      : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    (void)Reap();
  }

  /// The exit status of the child, or 128 + N when signal N ended it.
  int Wait(const Deadline& deadline, const std::string& program) {
    std::array<pollfd, 2> fds = {{{.fd = pidfd_.get(), .events = POLLIN, .revents = 0},
                                  {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
    while (fds[0].revents == 0) {
      Poll(fds, deadline, program);
      if (fds[0].revents == 0 && fds[1].revents != 0) ThrowPast(program, true);
    }
    const int status = Reap();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  int Reap() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  pid_t pid_;
  UniqueFd pidfd_;
};

/// Feeds stdin and takes stdout until the latter is closed.
class Conversation {
 public:
  Conversation(const std::string& program, const std::string& input, Pipe in, Pipe out)
      : program_(program), input_(input), in_(std::move(in.write)), out_(std::move(out.read)) {
    ::fcntl(in_.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(out_.get(), F_SETFL, O_NONBLOCK);
  }

  std::string Hold(const Deadline& deadline) {
    while (out_) {
      std::array<pollfd, 3> fds = {{{.fd = out_.get(), .events = POLLIN, .revents = 0},
                                    {.fd = in_ ? in_.get() : -1, .events = POLLOUT, .revents = 0},
                                    {.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
      Poll(fds, deadline, program_);
      if (fds[2].revents != 0) ThrowPast(program_, true);
      if (fds[1].revents != 0) Write();
      if (fds[0].revents != 0) Read();
    }
    return std::move(text_);
  }

 private:
  void Write() {
    const ssize_t size = ::write(in_.get(), input_.data() + written_, input_.size() - written_);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // The child need not read all of its input.
    if (size > 0) written_ += static_cast<size_t>(size);
    if (size < 0 || written_ == input_.size()) in_ = {};
  }
  void Read() {
    std::array<char, 16384> buffer{};
    const ssize_t size = ::read(out_.get(), buffer.data(), buffer.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      out_ = {};
      return;
    }
    text_.append(buffer.data(), static_cast<size_t>(size));
    if (text_.size() > kMostOutput)
      ThrowErrno(EMSGSIZE, "read the answer of " + Printable(program_, 300));
  }

  const std::string& program_;
  const std::string& input_;
  UniqueFd in_;
  UniqueFd out_;
  size_t written_ = 0;
  std::string text_;
};

}  // namespace

ChildOutput RunChild(const std::string& program, const std::vector<std::string>& environment,
                     const std::string& input, const Deadline& deadline) {
  Pipe in = MakePipe();
  Pipe out = MakePipe();
  SpawnSettings settings(POSIX_SPAWN_SETPGROUP);
  settings.Dup(in.read.get(), STDIN_FILENO);
  settings.Dup(out.write.get(), STDOUT_FILENO);
  std::vector<std::string> variables = environment;
  Child child(settings.Spawn(program, {program}, PointersTo(variables).data()));
  in.read = {};
  out.write = {};
  Conversation conversation(program, input, std::move(in), std::move(out));
  ChildOutput output;
  output.out = conversation.Hold(deadline);
  output.status = child.Wait(deadline, program);
  return output;
}

void StartDetached(const std::string& program, const std::vector<std::string>& arguments,
                   int input) {
  SpawnSettings settings(POSIX_SPAWN_SETSID);
  settings.Dup(input, STDIN_FILENO);
  settings.OpenNull(STDOUT_FILENO);
  settings.OpenNull(STDERR_FILENO);
  settings.CloseFrom(STDERR_FILENO + 1);
  (void)settings.Spawn(program, arguments, ::environ);
}

}  // namespace kuryr::cni
