#include "tests/fake_apiserver/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace kuryr::fake {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress ParseAddress(const std::string& text, uint16_t port) {
  SocketAddress result;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&result.storage, &v4, sizeof v4);
    result.length = sizeof v4;
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&result.storage, &v6, sizeof v6);
    result.length = sizeof v6;
  } else {
    ThrowErrno(EINVAL, "listen address " + Printable(text));
  }
  return result;
}

uint16_t PortOf(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address.storage, sizeof v4);
    return ntohs(v4.sin_port);
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address.storage, sizeof v6);
  return ntohs(v6.sin6_port);
}

}  // namespace

Signal::Signal() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) ThrowErrno("eventfd");
}

void Signal::Set() const noexcept { ::eventfd_write(event_.get(), 1); }

void Signal::Clear() const noexcept {
  eventfd_t value = 0;
  ::eventfd_read(event_.get(), &value);
}

Listener::Listener(const std::string& address, uint16_t port) : address_(address), port_(port) {
  Bind();
  Listen();
}

void Listener::Bind() {
  SocketAddress address = ParseAddress(address_, port_);
  socket_.reset(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_) ThrowErrno("socket");
  // Recent connections may be in TIME_WAIT when the port is bound again.
  const int on = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket_.get(), address.get(), address.length) != 0 ||
      ::getsockname(socket_.get(), address.get(), &address.length) != 0) {
    ThrowErrno("bind " + address_ + " port " + std::to_string(port_));
  }
  port_ = PortOf(address);
}

void Listener::Listen() {
  if (listening_) return;
  if (::listen(socket_.get(), SOMAXCONN) != 0) ThrowErrno("listen");
  listening_ = true;
}

void Listener::Refuse() {
  if (!listening_) return;
  listening_ = false;
  // After close() alone, the port would listen as long as a thread polls the descriptor.
  ::shutdown(socket_.get(), SHUT_RDWR);
  Bind();
}

UniqueFd Listener::Accept() {
  UniqueFd accepted(::accept4(fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (accepted) {
    const int on = 1;
    ::setsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return accepted;
}

}  // namespace kuryr::fake
