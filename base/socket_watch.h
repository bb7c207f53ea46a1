#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "base/folder_watch.h"

namespace kuryr {

/// Tells when it is worth trying again to connect to a server that is down. Not thread-safe.
class SocketWatch {
 public:
  /// `server` is for the exception's text.
  explicit SocketWatch(std::string server) : server_(std::move(server)) {}

  /// Call it before each try. `folder` is the folder of the server's socket; null if it has none.
  void Begin(std::shared_ptr<const FolderWatch> folder) { folder_ = std::move(folder); }
  /// Waits until a file has come into the folder, or for a pause. The pauses are for cases without
  /// an event: a missing folder, or a server that listens later than it makes its socket. They take
  /// 10 ms to 1 s, longer each time. False when `deadline` is over. Throws std::system_error,
  /// ECANCELED.
  [[nodiscard]] bool Wait(const Deadline& deadline);

 private:
  static constexpr std::chrono::milliseconds kFirstPause{10};
  static constexpr std::chrono::milliseconds kLongestPause{1000};

  const std::string server_;
  std::shared_ptr<const FolderWatch> folder_;
  std::chrono::milliseconds pause_ = kFirstPause;
};

}  // namespace kuryr
