#pragma once

#include <sys/types.h>

#include <string>

namespace kuryr::test {

/// Makes one call of the calling thread to the kernel fail, once. These calls are the ones with
/// which a driver opens sockets, files and namespaces, reads, writes, renames and removes files,
/// and asks the kernel (netlink) and OVSDB (a unix socket). Linked into a program, its functions
/// stand before libc's for all libraries. A thread has one at a time; other threads are not
/// affected.
///
/// Calls are left out whose failure leaves no work: closing, and the return from a pod's namespace,
/// after which the process ends (NetnsGuard). So are files that C++ streams open: attributes in
/// /sys, which a device's driver may refuse anyway.
class CallFault {
 public:
  enum class Kind {
    kNotDone,     ///< the call fails, and the kernel never sees it
    kAnswerLost,  ///< a request is sent and done, but receiving the answer fails
    kKilled,      ///< the process ends by SIGKILL before the call
  };

  /// Call `number` fails, counted from 1; kAnswerLost counts requests only.
  CallFault(Kind kind, int number);
  CallFault(const CallFault&) = delete;
  CallFault& operator=(const CallFault&) = delete;
  ~CallFault();

  /// The call that failed: "recv from OVSDB"; empty if no call waited for the answer.
  [[nodiscard]] const std::string& failed() const noexcept { return failed_; }
  /// Whether as many calls were made.
  [[nodiscard]] bool reached() const noexcept { return left_ <= 0; }

  // The functions that stand before libc's use these.
  [[nodiscard]] bool IsNext(const std::string& call);
  void NoteRequest(int fd);
  [[nodiscard]] bool LosesAnswerOf(int fd, const std::string& call);
  [[nodiscard]] bool IsHome(int netns_fd) const;
  void NoteFile(int fd) noexcept { file_fd_ = fd; }
  [[nodiscard]] bool IsFile(int fd) const noexcept { return fd == file_fd_; }

 private:
  Kind kind_;
  int left_;
  std::string failed_;
  int request_fd_ = -1;  ///< the socket whose answer gets lost
  int file_fd_ = -1;     ///< the last file that was opened
  ino_t home_ = 0;
};

}  // namespace kuryr::test
