#pragma once

#include <sys/types.h>

#include <string>

namespace kuryr::test {

/// Makes one of the calling thread's calls to the kernel fail, once: of those with which a driver
/// opens sockets, files and namespaces, reads, writes, renames and removes files, and asks the
/// kernel (netlink) and OVSDB (a unix socket) for something. Linked into a program, its functions
/// stand before libc's for all libraries. One at a time per thread; other threads notice nothing.
///
/// Left out is what cannot fail for a reason that leaves anything to be done: closing, and the way
/// back from a pod's namespace, after which the process ends (NetnsGuard); and what C++ streams
/// open: attributes in /sys, which a device's driver may refuse to tell anyway.
class CallFault {
 public:
  enum class Kind {
    kNotDone,     ///< the call fails, and the kernel never sees it
    kAnswerLost,  ///< a request is sent and done, but receiving the answer fails
  };

  /// Counts from 1; for kAnswerLost requests only.
  CallFault(Kind kind, int number);
  CallFault(const CallFault&) = delete;
  CallFault& operator=(const CallFault&) = delete;
  ~CallFault();

  /// What failed, "recv from OVSDB"; empty where nobody waited for the answer.
  [[nodiscard]] const std::string& failed() const noexcept { return failed_; }
  /// False where there were fewer calls.
  [[nodiscard]] bool reached() const noexcept { return left_ <= 0; }

  // For the functions that stand before libc's.
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
  int request_fd_ = -1;  ///< whose answer is to be lost
  int file_fd_ = -1;     ///< the last that was opened
  ino_t home_ = 0;
};

}  // namespace kuryr::test
