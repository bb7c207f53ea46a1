#include "watcher/connect_failure.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "base/unique_fd.h"

namespace kuryr::watcher {
namespace {

constexpr int kMostMilliseconds = 1000;

/// Errno of a connection to this address; 0 if it can be made.
int Try(const addrinfo& address) {
  const UniqueFd socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return errno;
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd writable{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&writable, 1, kMostMilliseconds) == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

std::string WhyNotConnected(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) return "no such host: " + host + " (" + ::gai_strerror(failure) + ")";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    error = Try(*each);
    if (error == 0) break;
  }
  return error == 0 ? "it works now" : std::generic_category().message(error);
}

}  // namespace kuryr::watcher
