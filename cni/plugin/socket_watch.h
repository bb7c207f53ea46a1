#pragma once

#include <string>

#include "base/deadline.h"
#include "base/unique_fd.h"

namespace kuryr::cni {

/// Tells when it is worth trying again to connect to a socket that nobody listens on. Not
/// thread-safe.
class SocketWatch {
 public:
  explicit SocketWatch(const std::string& path);

  /// What comes into the socket's folder from now on is noticed: to be called before each try.
  void Begin();
  /// Until something has come there since Begin, or for a second: nothing tells of a folder that
  /// was missing, nor of a service manager that listens later than it makes the socket, or keeps it
  /// for an agent that was killed. False when `deadline` is over. Throws std::system_error,
  /// ECANCELED.
  [[nodiscard]] bool Wait(const Deadline& deadline);

 private:
  const std::string path_;
  const std::string folder_;
  /// inotify(7); unset where the user has too many of them already.
  const UniqueFd events_;
};

}  // namespace kuryr::cni
