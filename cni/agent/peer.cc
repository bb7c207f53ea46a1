#include "cni/agent/peer.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include "base/error.h"

namespace kuryr::cni {
namespace {

/// Whether the process is in our user namespace: root of another one has uid 0 here, too, where it
/// is mapped so.
bool IsInOwnUserNamespace(pid_t pid) {
  struct stat own = {};
  struct stat other = {};
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/user";
  return ::stat("/proc/self/ns/user", &own) == 0 && ::stat(path.c_str(), &other) == 0 &&
         own.st_ino == other.st_ino && own.st_dev == other.st_dev;
}

}  // namespace

std::optional<std::string> WhyUntrusted(int socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    ThrowErrno("ask who is at the agent's socket");
  if (peer.uid != 0) return "uid " + std::to_string(peer.uid);
  // The process waits for an answer, so its number is still its own.
  if (!IsInOwnUserNamespace(peer.pid))
    return "process " + std::to_string(peer.pid) + " of another user namespace";
  return std::nullopt;
}

}  // namespace kuryr::cni
