#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace kuryr::test {

/// A program to run. Without a '/', argv[0] is looked up in the test's PATH.
struct Command {
  std::vector<std::string> argv;
  std::string input;                                      ///< stdin, at most 1 MiB, then its end
  std::optional<std::map<std::string, std::string>> env;  ///< instead of the test's own
};

struct ProcessResult {
  int status = 0;  ///< exit status, or 128 + N when ended by signal N
  std::string out;
  std::string err;
};

/// A running child; it shares the calling thread's namespaces. It is killed and reaped on
/// destruction, and killed by the kernel when the thread that started it ends (PR_SET_PDEATHSIG).
/// The rest of its process group goes with it. Up to 1 MiB of unread output each does not block it.
/// Not thread-safe. Throws std::system_error, also when the program cannot be executed.
class Process {
 public:
  explicit Process(const Command& command);
  Process(Process&&) = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] pid_t id() const noexcept { return pid_; }
  void Signal(int signal);
  /// Returns when the child's stdout or stderr so far contains `text`. Throws std::errc::timed_out,
  /// or std::errc::broken_pipe when it ended without writing it; what() holds the end of the
  /// output.
  void WaitForOutput(std::string_view text,
                     std::chrono::milliseconds timeout = std::chrono::seconds(10));
  /// Throws away output that no call waited for: for a child that writes more than 1 MiB.
  void ForgetOutput();
  /// The child's stdout, as far as calls waited for it.
  [[nodiscard]] const std::string& output() const noexcept { return out_; }
  /// Waits for the child's end. Throws std::errc::timed_out, what() with the end of the output; the
  /// child lives on.
  ProcessResult Wait(std::chrono::milliseconds timeout = std::chrono::seconds(30));

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  bool ReadOutput(TimePoint deadline);
  [[nodiscard]] std::string Describe(const std::string& failure) const;

  std::string name_;
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd out_fd_;
  UniqueFd err_fd_;
  std::string out_;
  std::string err_;
  std::optional<int> status_;
};

/// Runs a program to its end.
ProcessResult RunProgram(const Command& command,
                         std::chrono::milliseconds timeout = std::chrono::seconds(30));

}  // namespace kuryr::test
