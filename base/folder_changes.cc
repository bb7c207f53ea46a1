#include "base/folder_changes.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace kuryr {
namespace {

constexpr uint32_t kChanges =
    IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
/// Room for some 30 notices of names as long as records have.
constexpr size_t kRoom = 4096;

/// Adds the names in `notices`; false when the kernel has dropped notices.
bool AddNames(const char* notices, size_t size, std::set<std::string>& names) {
  for (size_t at = 0; at + sizeof(inotify_event) <= size;) {
    inotify_event notice = {};
    std::memcpy(&notice, notices + at, sizeof notice);
    if ((notice.mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0) return false;
    // The name ends at the first zero; more of them fill it up.
    if (notice.len > 0) names.emplace(notices + at + sizeof notice);
    at += sizeof notice + notice.len;
  }
  return true;
}

}  // namespace

FolderChanges::Identity FolderChanges::Look() const {
  struct stat status = {};
  if (::stat(folder_.c_str(), &status) != 0) return {};
  return {.device = status.st_dev, .inode = status.st_ino};
}

bool FolderChanges::IsWatched() const { return events_ && watched_ == Look(); }

void FolderChanges::Watch() {
  watched_ = Look();
  events_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (::inotify_add_watch(events_.get(), folder_.c_str(), kChanges) < 0 || !IsWatched())
    events_.reset();
}

std::optional<std::set<std::string>> FolderChanges::Take() {
  std::set<std::string> names;
  bool is_all = IsWatched();
  std::array<char, kRoom> notices{};
  ssize_t size = 0;
  while (is_all && (size = ::read(events_.get(), notices.data(), notices.size())) > 0)
    is_all = AddNames(notices.data(), static_cast<size_t>(size), names);
  if (is_all && size < 0 && errno == EAGAIN) return names;
  // A caller that asks only once needs no watch, and would wait for the kernel to end it.
  if (std::exchange(was_taken_, true)) Watch();
  return std::nullopt;
}

}  // namespace kuryr
