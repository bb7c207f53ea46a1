#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "devices/bridges.h"

namespace kuryr::devices {

/// What may have changed; it says only where to look.
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

  /// Without uevents, which not every container gets, it warns and goes on. Throws
  /// std::system_error without inotify(7).
  explicit ChangeEvents(Watched watched);

  /// Looks at folders that were missing, too. To be called from time to time.
  void Watch();
  /// Both readable when something has changed; the second is -1 without uevents.
  [[nodiscard]] int folders_fd() const noexcept { return inotify_.get(); }
  [[nodiscard]] int uevents_fd() const noexcept { return uevents_.get(); }
  /// Since the last time. Never blocks.
  [[nodiscard]] Changes Take();

 private:
  void TakeFolders(Changes& changes);
  void TakeUevents(Changes& changes);

  const Watched watched_;
  UniqueFd inotify_;
  UniqueFd uevents_;
  std::map<int, bool Changes::*> watches_;
};

/// "add@/devices/pci0000:00/0000:00:1c.0": of a PCI device, or a part of one. Pods' links are below
/// /devices/virtual.
[[nodiscard]] bool IsOfHardware(std::string_view uevent);

}  // namespace kuryr::devices
