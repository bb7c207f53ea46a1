#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"

namespace kuryr::kubelet {

/// Which file a listening socket has made.
struct SocketFile {
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;

  /// Unless something else lies there by now.
  void Remove() const noexcept;
};

struct Listener {
  UniqueFd fd;
  SocketFile file;
};

// Descriptors that never block. Both throw std::system_error that names the path.

/// Removes what lies there; mode 0600.
[[nodiscard]] Listener ListenAt(const std::string& path);
[[nodiscard]] UniqueFd ConnectTo(const std::string& path);

}  // namespace kuryr::kubelet
