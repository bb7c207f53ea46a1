#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace kuryr {

/// The changes in a folder, as the kernel reports them (inotify(7)): a change is known once its
/// system call has returned. For one thread at a time.
class FolderChanges {
 public:
  explicit FolderChanges(std::string folder) : folder_(std::move(folder)) {}

  /// The names of files that came, went or were written since the last call. nullopt when any file
  /// may have changed: at the first call, for another folder at this path, after the kernel has
  /// dropped notices, and where the kernel sends none.
  [[nodiscard]] std::optional<std::set<std::string>> Take();
  /// Makes the next Take() return nullopt, because the caller has lost what it took.
  void Forget() noexcept { events_.reset(); }

 private:
  /// A folder's identity, as stat(2) has it; all zero for none.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const Identity&) const = default;
  };
  [[nodiscard]] Identity Look() const;
  [[nodiscard]] bool IsWatched() const;
  void Watch();

  const std::string folder_;
  bool was_taken_ = false;  ///< once
  UniqueFd events_;
  Identity watched_;
};

}  // namespace kuryr
