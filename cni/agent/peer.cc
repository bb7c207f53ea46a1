#include "cni/agent/peer.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include "base/error.h"

namespace kuryr::cni {
namespace {

/// Root of another user namespace has uid 0 here, too, where it is mapped so.
std::optional<std::string> WhyForeign(pid_t pid) {
  const std::string process = "process " + std::to_string(pid);
  struct stat own = {};
  struct stat other = {};
  if (::stat("/proc/self/ns/user", &own) != 0) ThrowErrno("/proc/self/ns/user");
  if (::stat(("/proc/" + std::to_string(pid) + "/ns/user").c_str(), &other) != 0)
    return process + " that is gone or cannot be seen";
  if (own.st_ino != other.st_ino || own.st_dev != other.st_dev)
    return process + " of another user namespace";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> WhyUntrusted(int socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    ThrowErrno("ask who is at the agent's socket");
  if (peer.uid != 0) return "uid " + std::to_string(peer.uid);
  // The process waits for an answer, so its number is still its own.
  return WhyForeign(peer.pid);
}

}  // namespace kuryr::cni
