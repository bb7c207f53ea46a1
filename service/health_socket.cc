#include "service/health_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "base/error.h"
#include "base/unix_socket.h"

namespace kuryr::service {
namespace {

constexpr int kBacklog = 128;
constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

void RemoveSocket(const std::string& path, const std::string& what) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return;
  if (!S_ISSOCK(found.st_mode)) ThrowErrno(EEXIST, what);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) ThrowErrno(what);
}

UniqueFd ListenAtPath(const std::string& path) {
  const std::string what = "listen at " + path;
  const UnixAddress address(path);
  RemoveSocket(path, what);
  UniqueFd socket = MakeUnixSocket(SOCK_NONBLOCK);
  // bind(2) takes the file's mode from here.
  if (::fchmod(socket.get(), 0600) != 0) ThrowErrno(what);
  if (::bind(socket.get(), address.get(), address.size()) != 0) ThrowErrno(what);
  if (::listen(socket.get(), kBacklog) != 0) ThrowErrno(what);
  return socket;
}

/// Listens at `place`; returns an empty descriptor and sets errno if it cannot. It does not set
/// SO_REUSEPORT, because a second server at the port must fail.
UniqueFd TryToListen(const addrinfo& place) {
  UniqueFd socket(::socket(place.ai_family, kKind, place.ai_protocol));
  if (!socket) return {};
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (place.ai_family == AF_INET6)
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(socket.get(), place.ai_addr, place.ai_addrlen) != 0) return {};
  if (::listen(socket.get(), kBacklog) != 0) return {};
  return socket;
}

UniqueFd ListenAtPort(const std::string& address, uint16_t port) {
  const std::string what = "listen at " + address + " port " + std::to_string(port);
  const addrinfo wanted = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error == EAI_SYSTEM) ThrowErrno(what);
  if (error != 0) ThrowErrno(EADDRNOTAVAIL, what + ": " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> places(found, ::freeaddrinfo);
  for (const addrinfo* place = found; place != nullptr; place = place->ai_next) {
    if (UniqueFd socket = TryToListen(*place)) return socket;
  }
  ThrowErrno(what);
}

}  // namespace

UniqueFd ListenForHealth(const std::string& address, uint16_t port) {
  return IsSocketPath(address) ? ListenAtPath(address) : ListenAtPort(address, port);
}

std::string ClientOf(int connection) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(connection, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "";
  const auto bytes = [](const void* begin, size_t count) {
    return std::string(static_cast<const char*>(begin), count);
  };
  if (peer.ss_family == AF_INET)
    return bytes(&reinterpret_cast<const sockaddr_in&>(peer).sin_addr, sizeof(in_addr));
  if (peer.ss_family != AF_INET6) return "";
  const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
  constexpr size_t kPrefix = 8;
  constexpr size_t kMapped = 12;  // where the address of IPv4 begins
  return IN6_IS_ADDR_V4MAPPED(&address) ? bytes(&address.s6_addr[kMapped], sizeof(in_addr))
                                        : bytes(&address, kPrefix);
}

}  // namespace kuryr::service
