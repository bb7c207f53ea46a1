#include "tests/support/traffic.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <future>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr::test {
namespace {

constexpr uint16_t kPort = 4712;
constexpr timeval kTime = {.tv_sec = 30};

class Endpoint {
 public:
  Endpoint(const std::string& address, uint16_t port) {
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&storage_);
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&storage_);
    if (::inet_pton(AF_INET6, address.c_str(), &ipv6->sin6_addr) == 1) {
      storage_.ss_family = AF_INET6;
      ipv6->sin6_port = htons(port);
    } else {
      storage_.ss_family = AF_INET;
      ipv4->sin_port = htons(port);
      if (::inet_pton(AF_INET, address.c_str(), &ipv4->sin_addr) != 1) ThrowErrno(EINVAL, address);
    }
  }
  [[nodiscard]] int family() const { return storage_.ss_family; }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  static constexpr socklen_t kSize = sizeof(sockaddr_in6);

 private:
  sockaddr_storage storage_{};
};

UniqueFd SocketIn(const binding::Netns& netns, int family, int type, int protocol) {
  const binding::NetnsGuard guard(netns);
  UniqueFd socket(::socket(family, type | SOCK_CLOEXEC, protocol));
  if (!socket) ThrowErrno("open a socket");
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
    ::setsockopt(socket.get(), SOL_SOCKET, option, &kTime, sizeof kTime);
  return socket;
}

void Check(ssize_t result, const std::string& what) {
  if (result < 0) ThrowErrno(what);
}

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 251);
  return text;
}

void SendAll(int socket, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(socket, text.data() + sent,
                                 std::min<size_t>(text.size() - sent, 32768), MSG_NOSIGNAL);
    Check(count, "send");
    sent += static_cast<size_t>(count);
  }
}

std::string ReceiveAll(int socket, size_t size) {
  std::string text(size, '\0');
  for (size_t received = 0; received < size;) {
    const ssize_t count = ::recv(socket, text.data() + received, size - received, 0);
    Check(count, "receive");
    if (count == 0) ThrowErrno(ECONNRESET, "receive");
    received += static_cast<size_t>(count);
  }
  return text;
}

void RequireSame(const std::string& sent, const std::string& received) {
  if (sent != received) ThrowErrno(EBADMSG, "compare what was received");
}

}  // namespace

void ExpectEcho(const binding::Netns& from, const binding::Netns& to, const std::string& address,
                int protocol, size_t size) {
  const Endpoint there(address, kPort);
  const UniqueFd listener = SocketIn(to, there.family(), SOCK_STREAM, protocol);
  const int reuse = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  Check(::bind(listener.get(), there.get(), Endpoint::kSize), "bind " + address);
  Check(::listen(listener.get(), 1), "listen");
  auto echo = std::async(std::launch::async, [&] {
    const UniqueFd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Check(server.get(), "accept");
    SendAll(server.get(), ReceiveAll(server.get(), size));
  });
  const UniqueFd client = SocketIn(from, there.family(), SOCK_STREAM, protocol);
  Check(::connect(client.get(), there.get(), Endpoint::kSize), "connect to " + address);
  const std::string text = Pattern(size);
  SendAll(client.get(), text);
  RequireSame(text, ReceiveAll(client.get(), size));
  echo.get();
}

void ExpectDatagramEcho(const binding::Netns& from, const binding::Netns& to,
                        const std::string& address, size_t size) {
  const Endpoint there(address, kPort);
  const UniqueFd server = SocketIn(to, there.family(), SOCK_DGRAM, 0);
  const UniqueFd client = SocketIn(from, there.family(), SOCK_DGRAM, 0);
  Check(::bind(server.get(), there.get(), Endpoint::kSize), "bind " + address);
  Check(::connect(client.get(), there.get(), Endpoint::kSize), "connect to " + address);
  const std::string text = Pattern(size);
  Check(::send(client.get(), text.data(), text.size(), 0), "send a datagram");
  std::string received(size + 1, '\0');
  sockaddr_storage sender{};
  socklen_t length = sizeof sender;
  const ssize_t count = ::recvfrom(server.get(), received.data(), received.size(), 0,
                                   reinterpret_cast<sockaddr*>(&sender), &length);
  Check(count, "receive a datagram of " + std::to_string(size) + " bytes at " + address);
  received.resize(static_cast<size_t>(count));
  RequireSame(text, received);
  Check(::sendto(server.get(), text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&sender),
                 length),
        "send a datagram back");
  RequireSame(text, ReceiveAll(client.get(), size));
}

void ExpectTraffic(const binding::Netns& from, const binding::Netns& to,
                   const std::string& address) {
  for (const size_t size : {1U, 1400U, 1500U, 300'000U})
    ExpectEcho(from, to, address, IPPROTO_TCP, size);
  for (const size_t size : {1U, 1400U, 1500U, 60'000U}) ExpectDatagramEcho(from, to, address, size);
}

bool HasSctp() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SCTP));
  return static_cast<bool>(socket);
}

}  // namespace kuryr::test
