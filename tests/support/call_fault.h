#pragma once

#include <sys/types.h>

#include <string>

namespace kuryr::test {

/// Makes one of the calling thread's calls to the kernel fail, once: of those with which a driver
/// opens sockets, files and namespaces, and with which it asks the kernel (netlink) and OVSDB (a
/// unix socket) for something. Linked into a program, its functions stand before libc's for all
/// libraries. One at a time per thread; other threads notice nothing.
///
/// Left out is what cannot fail for a reason that leaves anything to be done: closing, and the way
/// back from a pod's namespace, after which the process ends (NetnsGuard).
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
  void NoteSetting(int fd) noexcept { setting_fd_ = fd; }
  [[nodiscard]] bool IsSetting(int fd) const noexcept { return fd == setting_fd_; }

 private:
  Kind kind_;
  int left_;
  std::string failed_;
  int request_fd_ = -1;  ///< whose answer is to be lost
  int setting_fd_ = -1;  ///< a file of /proc/sys
  ino_t home_ = 0;
};

}  // namespace kuryr::test
