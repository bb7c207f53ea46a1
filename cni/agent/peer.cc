#include "cni/agent/peer.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr::cni {
namespace {

constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, since Linux 6.5

/// A lack of descriptors is no fact about the caller.
void RequireDescriptor() {
  if (errno == EMFILE || errno == ENFILE) ThrowErrno("see who is at the agent's socket");
}

/// Its number may be another process's then. An older kernel cannot say: there it is taken to wait
/// for its answer.
bool HasEnded(int socket) {
  int descriptor = -1;
  socklen_t size = sizeof descriptor;
  if (::getsockopt(socket, SOL_SOCKET, kPeerPidfd, &descriptor, &size) != 0) {
    RequireDescriptor();
    return errno != ENOPROTOOPT;
  }
  const UniqueFd pidfd(descriptor);
  pollfd ended = {.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) != 0;
}

/// Its folder in /proc, which stays its own when its number is used again; empty when it is gone.
UniqueFd FolderOf(int socket, pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid);
  UniqueFd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) RequireDescriptor();
  return folder && !HasEnded(socket) ? std::move(folder) : UniqueFd();
}

/// Root of another user namespace has uid 0 here, too, where it is mapped so.
bool IsOfOwnUsers(const UniqueFd& folder) {
  struct stat own = {};
  struct stat other = {};
  if (::stat("/proc/self/ns/user", &own) != 0) ThrowErrno("/proc/self/ns/user");
  return ::fstatat(folder.get(), "ns/user", &other, 0) == 0 && own.st_ino == other.st_ino &&
         own.st_dev == other.st_dev;
}

/// A field of proc_pid_status(5) in hexadecimal digits; 0 when the process is gone.
uint64_t EffectiveCapabilities(const UniqueFd& folder) {
  constexpr std::string_view kField = "\nCapEff:\t";
  std::array<char, 8192> text{};
  const UniqueFd status(::openat(folder.get(), "status", O_RDONLY | O_CLOEXEC));
  if (!status) RequireDescriptor();
  const ssize_t size = status ? ::read(status.get(), text.data(), text.size()) : 0;
  const std::string_view all(text.data(), static_cast<size_t>(size > 0 ? size : 0));
  const size_t field = all.find(kField);
  uint64_t capabilities = 0;
  if (field == std::string_view::npos) return capabilities;
  const std::string_view digits = all.substr(field + kField.size());
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), capabilities, 16);
  return capabilities;
}

}  // namespace

std::optional<std::string> WhyUntrusted(int socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    ThrowErrno("ask who is at the agent's socket");
  if (peer.uid != 0) return "uid " + std::to_string(peer.uid);
  const std::string process = "process " + std::to_string(peer.pid);
  const UniqueFd folder = FolderOf(socket, peer.pid);
  if (!folder) return process + " that is gone or cannot be seen";
  if (!IsOfOwnUsers(folder)) return process + " of another user namespace";
  // A container's root has uid 0 here as well, and not what setns(2) takes.
  if ((EffectiveCapabilities(folder) & (uint64_t{1} << CAP_SYS_ADMIN)) == 0)
    return process + " without CAP_SYS_ADMIN";
  return std::nullopt;
}

}  // namespace kuryr::cni
