#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "kubelet/answer_stream.h"
#include "kubelet/status.h"

namespace kuryr::kubelet {

/// What a peer may use up. Beyond it a call ends with RESOURCE_EXHAUSTED, a connection is closed.
struct ServerLimits {
  size_t connections = 16;
  uint32_t streams = 100;           ///< of a connection, at a time
  size_t message_bytes = 4 << 20;   ///< of a request
  size_t header_bytes = 16 << 10;   ///< of a request, names and values
  size_t queued_bytes = 16 << 20;   ///< of a call's answers that the peer does not take
  std::chrono::seconds asking{10};  ///< until a request has come whole, or a connection's preface
};

/// Both get the serialised request. A unary handler returns the serialised answer; what it throws
/// is answered: CallError as it is, all else as INTERNAL. A streaming handler keeps the stream for
/// as long as it has something to say; what it throws ends the call.
using UnaryHandler = std::function<std::string(const std::string& request)>;
using StreamHandler =
    std::function<void(const std::string& request, std::shared_ptr<AnswerStream> stream)>;

/// The methods of a server, by path ("/v1beta1.DevicePlugin/Allocate"). Others are answered
/// UNIMPLEMENTED.
struct Methods {
  std::map<std::string, UnaryHandler> unary;
  std::map<std::string, StreamHandler> streaming;
};

/// A gRPC server on a unix socket: HTTP/2 in the clear, as the kubelet speaks it. It has no thread:
/// its owner polls fd(), among others of its own, and calls Advance() when that is readable, which
/// never blocks and calls the handlers. Handlers may destroy nothing of the server, and call
/// AnswerStream's functions freely. Not thread-safe.
class Server {
 public:
  /// Listens at once: a peer that connects waits until Advance(). What lies at `socket` is removed
  /// before, and by the destructor unless somebody else has put another one there. Mode 0600.
  /// Throws std::system_error that names the path.
  Server(const std::string& socket, Methods methods, const ServerLimits& limits = {});
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Streams that are open are closed with their connections.
  ~Server();

  /// Readable when Advance() has something to do (an epoll(7) descriptor). Borrowed.
  [[nodiscard]] int fd() const noexcept;
  void Advance();
  [[nodiscard]] const std::string& socket() const noexcept;
  /// That are open.
  [[nodiscard]] size_t connections() const noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace kuryr::kubelet
