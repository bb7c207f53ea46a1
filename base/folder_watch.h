#pragma once

#include <string>

#include "base/unique_fd.h"

namespace kuryr {

/// Whether something has come into a folder since this was made (inotify(7)): said once and for
/// good, to any number of threads.
class FolderWatch {
 public:
  explicit FolderWatch(const std::string& folder);

  [[nodiscard]] bool HasNoticed() const;
  /// Readable when it has noticed something; never for a folder that is missing, -1 where the user
  /// has too many of them already.
  [[nodiscard]] int fd() const noexcept { return events_.get(); }

 private:
  UniqueFd events_;
};

}  // namespace kuryr
