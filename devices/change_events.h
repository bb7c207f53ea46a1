#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "devices/bridges.h"

namespace kuryr::devices {

/// The things that may have changed; it says only where to look.
struct Changes {
  bool devices = false;
  bool sockets = false;
  bool config = false;
};

/// The folders and the kernel's events (uevents) that tell of changes. Not thread-safe.
class ChangeEvents {
 public:
  struct Watched {
    std::filesystem::path sysfs;
    std::filesystem::path sockets;
    std::filesystem::path config;
    std::filesystem::path devinfo;  ///< [devices] devinfo_dir, for Drain
    BridgeOffer bridges;            ///< whose links count as devices
  };

  /// Logs a warning if there are no uevents, as in some containers. Throws std::system_error if
  /// there is no inotify(7).
  explicit ChangeEvents(Watched watched);

  /// Adds watches of folders, also of folders that were missing before. Call it from time to time.
  void Watch();
  /// Both descriptors are readable after a change; the second is -1 without uevents.
  [[nodiscard]] int folders_fd() const noexcept { return inotify_.get(); }
  [[nodiscard]] int uevents_fd() const noexcept { return uevents_.get(); }
  /// The changes since the last call. Never blocks.
  [[nodiscard]] Changes Take();

 private:
  void TakeFolders(Changes& changes);
  void TakeUevents(Changes& changes);

  const Watched watched_;
  UniqueFd inotify_;
  UniqueFd uevents_;
  std::map<int, bool Changes::*> watches_;
};

/// Whether an event such as "add@/devices/pci0000:00/0000:00:1c.0" concerns a PCI device or a part
/// of one. Pods' links are below /devices/virtual.
[[nodiscard]] bool IsOfHardware(std::string_view uevent);

}  // namespace kuryr::devices
