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

/// Limits for a peer. Beyond them a call ends with RESOURCE_EXHAUSTED, or the server closes the
/// connection.
struct ServerLimits {
  size_t connections = 16;          ///< a newcomer beyond them takes the place of an idle one
  size_t client_connections = 4;    ///< of one process, where the kernel tells its number
  uint32_t streams = 16;            ///< most concurrent streams of a connection
  size_t message_bytes = 1 << 20;   ///< of a request
  size_t asked_bytes = 2 << 20;     ///< of a connection's requests that are not answered
  size_t header_bytes = 16 << 10;   ///< of a request, names and values
  size_t queued_bytes = 4 << 20;    ///< of a connection's answers that the peer has not read
  std::chrono::seconds asking{10};  ///< for a whole request, or a connection's preface
};

/// Handlers get the serialised request. A unary handler returns the serialised answer. The server
/// answers a thrown CallError as it is, and other exceptions as INTERNAL. A streaming handler keeps
/// the stream while it has messages to send; an exception ends the call.
using UnaryHandler = std::function<std::string(const std::string& request)>;
using StreamHandler =
    std::function<void(const std::string& request, std::shared_ptr<AnswerStream> stream)>;

/// The methods of a server, by path ("/v1beta1.DevicePlugin/Allocate"). The server answers
/// UNIMPLEMENTED for other paths.
struct Methods {
  std::map<std::string, UnaryHandler> unary;
  std::map<std::string, StreamHandler> streaming;
};

/// A gRPC server on a unix socket, over unencrypted HTTP/2 as the kubelet speaks it. It has no
/// thread: its owner polls fd() and calls Advance() when fd() is readable. Advance() never blocks
/// and calls the handlers. Handlers must not destroy the server, and may call AnswerStream's
/// functions. Not thread-safe.
class Server {
 public:
  /// Listens at once; a connecting peer waits until Advance(). Removes an existing file at `socket`
  /// first. The destructor removes the socket, unless another program has replaced it. Mode 0600.
  /// Throws std::system_error that names the path.
  Server(const std::string& socket, Methods methods, const ServerLimits& limits = {});
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Closes all connections and their open streams.
  ~Server();

  /// Readable when Advance() has something to do (an epoll(7) descriptor). Borrowed.
  [[nodiscard]] int fd() const noexcept;
  void Advance();
  [[nodiscard]] const std::string& socket() const noexcept;
  /// The number of open connections.
  [[nodiscard]] size_t connections() const noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace kuryr::kubelet
