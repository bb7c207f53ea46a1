#include "base/folder_watch.h"

#include <poll.h>
#include <sys/inotify.h>

namespace kuryr {

FolderWatch::FolderWatch(const std::string& folder)
    : events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  ::inotify_add_watch(events_.get(), folder.c_str(), IN_CREATE | IN_MOVED_TO);
}

bool FolderWatch::HasNoticed() const {
  pollfd events{.fd = events_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&events, 1, 0) > 0;
}

}  // namespace kuryr
