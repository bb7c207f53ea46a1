#pragma once

#include <string>

#include "base/unique_fd.h"

namespace kuryr {

/// Tells any number of threads that a file has come into a folder since the watch was made
/// (inotify(7)). Once noticed, that stays so.
class FolderWatch {
 public:
  explicit FolderWatch(const std::string& folder);

  [[nodiscard]] bool HasNoticed() const;
  /// Readable once a file has come. Never readable if the folder is missing; -1 if the user has too
  /// many watches.
  [[nodiscard]] int fd() const noexcept { return events_.get(); }

 private:
  UniqueFd events_;
};

}  // namespace kuryr
