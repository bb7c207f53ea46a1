#include "devices/change_events.h"

#include <linux/netlink.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace kuryr::devices {
namespace {

constexpr uint32_t kWritten = IN_CLOSE_WRITE | IN_MOVED_TO;
constexpr uint32_t kComesAndGoes = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM;

UniqueFd OpenUevents() {
  constexpr uint32_t kKernel = 1;
  UniqueFd socket(
      ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  const sockaddr_nl groups{.nl_family = AF_NETLINK, .nl_groups = kKernel};
  if (socket &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&groups), sizeof groups) == 0)
    return socket;
  Log(LogLevel::kWarning, "no uevents: devices that come and go are seen seconds later",
      {{"error", std::strerror(errno)}});
  return {};
}

}  // namespace

ChangeEvents::ChangeEvents(Watched watched)
    : watched_(std::move(watched)),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      uevents_(OpenUevents()) {
  if (!inotify_) ThrowErrno("inotify");
  Watch();
}

void ChangeEvents::Watch() {
  const auto watch = [this](const std::filesystem::path& folder, uint32_t events,
                            bool Changes::* change) {
    const int id = ::inotify_add_watch(inotify_.get(), folder.c_str(), events | IN_ONLYDIR);
    if (id >= 0) watches_[id] = change;
  };
  watch(watched_.sockets, kComesAndGoes, &Changes::sockets);
  watch(watched_.config, kWritten, &Changes::config);
  watch(watched_.devinfo, kComesAndGoes, &Changes::devices);
  // inotify gets no events from the kernel's sysfs; this watch is for test trees.
  watch(watched_.sysfs / "bus/pci/devices", kComesAndGoes, &Changes::devices);
}

Changes ChangeEvents::Take() {
  Changes changes;
  TakeFolders(changes);
  TakeUevents(changes);
  return changes;
}

void ChangeEvents::TakeFolders(Changes& changes) {
  alignas(inotify_event) std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::read(inotify_.get(), buffer.data(), buffer.size())) > 0) {
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += static_cast<ssize_t>(sizeof *event + event->len);
      if ((event->mask & IN_Q_OVERFLOW) != 0) changes = {true, true, true};
      const auto watch = watches_.find(event->wd);
      if (watch == watches_.end()) continue;
      changes.*(watch->second) = true;
      if ((event->mask & IN_IGNORED) != 0) watches_.erase(watch);
    }
  }
}

void ChangeEvents::TakeUevents(Changes& changes) {
  if (!uevents_) return;
  std::array<char, 4096> buffer{};
  while (true) {
    sockaddr_nl sender{};
    socklen_t length = sizeof sender;
    const ssize_t size = ::recvfrom(uevents_.get(), buffer.data(), buffer.size(), 0,
                                    reinterpret_cast<sockaddr*>(&sender), &length);
    // The kernel dropped some events.
    if (size < 0 && errno == ENOBUFS) changes.devices = true;
    if (size < 0 && errno != ENOBUFS) return;
    if (size <= 0 || sender.nl_pid != 0) continue;
    const std::string_view uevent(buffer.data(),
                                  ::strnlen(buffer.data(), static_cast<size_t>(size)));
    if (IsOfHardware(uevent) || IsOfBridge(watched_.bridges, uevent)) changes.devices = true;
  }
}

bool IsOfHardware(std::string_view uevent) { return uevent.find("/pci") != std::string_view::npos; }

}  // namespace kuryr::devices
