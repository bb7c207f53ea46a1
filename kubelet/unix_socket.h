#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"

namespace kuryr::kubelet {

/// The file that a listening socket has made.
struct SocketFile {
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;

  /// Removes the file, unless another file has replaced it.
  void Remove() const noexcept;
};

struct Listener {
  UniqueFd fd;
  SocketFile file;
};

/// Listens at `path` with mode 0600, by a non-blocking descriptor. Removes an existing file there
/// first. Throws std::system_error that names the path.
[[nodiscard]] Listener ListenAt(const std::string& path);

}  // namespace kuryr::kubelet
