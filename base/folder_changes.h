#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace kuryr {

/// What changes in a folder, by the kernel's word (inotify(7)): a change is known once the system
/// call that made it has returned. For one thread at a time.
class FolderChanges {
 public:
  explicit FolderChanges(std::string folder) : folder_(std::move(folder)) {}

  /// The names of files that came, went or were written since this was called before. nullopt when
  /// it may have been any: the first time, for another folder in this one's place, after more
  /// changes than the kernel tells of, and wherever it tells of none.
  [[nodiscard]] std::optional<std::set<std::string>> Take();
  /// It may have been any, for what was taken is lost.
  void Forget() noexcept { events_.reset(); }

 private:
  /// Which folder it is, as stat(2) has it; all zero for none.
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
