#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "base/unix_socket.h"
#include "kubelet/unix_socket.h"

namespace kuryr::kubelet {

// Bytes of HTTP/2 (RFC 9113), made by hand to be unlike those of the libraries in use.

inline constexpr const char* kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoaway = 7,
  kContinuation = 9
};
enum FrameFlag : uint8_t { kNone = 0, kEndStream = 1, kAck = 1, kEndHeaders = 4 };

inline std::string Number(uint32_t number, int bytes) {
  std::string out;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(number >> shift & 0xff);
  return out;
}

struct RawFrame {
  FrameType type;
  int flags = kNone;
  uint32_t stream = 0;
  std::string payload = {};

  [[nodiscard]] std::string Bytes() const {
    return Number(static_cast<uint32_t>(payload.size()), 3) + static_cast<char>(type) +
           static_cast<char>(flags) + Number(stream, 4) + payload;
  }
};

/// HPACK (RFC 7541): a literal that is not indexed, of a new name; both shorter than 127 bytes.
inline std::string Field(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

inline std::string AnswerFields() {
  return Field(":status", "200") + Field("content-type", "application/grpc");
}

/// A server that sends the same bytes to each client, whatever the client sends.
class RawServer {
 public:
  RawServer(const std::string& socket, std::string says, int times = 1)
      : listener_(ListenAt(socket)), thread_([this, says = std::move(says), times] {
          for (UniqueFd peer = Accept(); peer; peer = Accept()) Talk(peer, says, times);
        }) {}
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer() {
    ::shutdown(listener_.fd.get(), SHUT_RDWR);
    thread_.join();
    listener_.file.Remove();
  }

 private:
  [[nodiscard]] UniqueFd Accept() const {
    pollfd waits{.fd = listener_.fd.get(), .events = POLLIN, .revents = 0};
    ::poll(&waits, 1, -1);
    return UniqueFd(::accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  /// Sends, and reads until the peer has gone.
  static void Talk(const UniqueFd& peer, const std::string& says, int times) {
    for (int n = 0; n < times; ++n) {
      if (::send(peer.get(), says.data(), says.size(), MSG_NOSIGNAL) < 0) return;
    }
    std::array<char, 4096> buffer{};
    while (::recv(peer.get(), buffer.data(), buffer.size(), 0) > 0) {
    }
  }

  Listener listener_;
  std::thread thread_;
};

/// A client that sends given bytes, and reads until the server closes or is silent for two minutes.
class RawClient {
 public:
  explicit RawClient(const std::string& socket) : socket_(ConnectToUnix(socket)) {}

  void Say(std::string_view bytes) const {
    while (!bytes.empty()) {
      if (!Await(POLLOUT)) return;
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  /// Whether `text` came before the end.
  [[nodiscard]] bool Hears(std::string_view text) {
    while (heard_.find(text) == std::string::npos) {
      if (!Hear()) return false;
    }
    return true;
  }
  /// Whether the server closed; a reset counts.
  [[nodiscard]] bool HearsEnd() {
    while (Hear()) {
    }
    return ended_;
  }

 private:
  static constexpr int kSilence = 120000;  // ms

  [[nodiscard]] bool Await(short events) const {
    pollfd waits{.fd = socket_.get(), .events = events, .revents = 0};
    return ::poll(&waits, 1, kSilence) == 1;
  }
  [[nodiscard]] bool Hear() {
    if (!Await(POLLIN)) return false;
    std::array<char, 4096> buffer{};
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    ended_ = size <= 0;
    if (size > 0) heard_.append(buffer.data(), static_cast<size_t>(size));
    return size > 0;
  }

  UniqueFd socket_;
  std::string heard_;
  bool ended_ = false;
};

}  // namespace kuryr::kubelet
