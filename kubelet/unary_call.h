#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "kubelet/status.h"

namespace kuryr::kubelet {

/// A request, and the socket of its server.
struct CallRequest {
  std::string socket;                    ///< a path
  std::string method;                    ///< "/v1.PodResourcesLister/List"
  std::string message;                   ///< serialised
  size_t most_bytes = size_t{16} << 20;  ///< of the answer's message
};

/// One gRPC call on its own connection: unencrypted HTTP/2 over a unix socket. It has no thread:
/// its owner polls fd() and calls Advance() until Advance() returns true. The destructor cancels a
/// running call. Not thread-safe.
class UnaryCall {
 public:
  /// Connects and begins the call. The server gets `deadline` as well; the call ignores its
  /// cancel_fd. Throws std::system_error that names the socket if no server listens there.
  UnaryCall(const CallRequest& request, const Deadline& deadline);
  /// Begins the call on a connected, non-blocking socket.
  UnaryCall(UniqueFd socket, const CallRequest& request, const Deadline& deadline);
  UnaryCall(const UnaryCall&) = delete;
  UnaryCall& operator=(const UnaryCall&) = delete;
  ~UnaryCall();

  /// Readable when Advance() has something to do, the deadline included (an epoll(7) descriptor).
  [[nodiscard]] int fd() const noexcept;
  /// Continues the call without blocking. True when the call is over.
  bool Advance();
  /// The serialised answer; call it once the call is over. Throws CallError for another status than
  /// OK: DEADLINE_EXCEEDED past the deadline on either side, UNAVAILABLE for a lost connection,
  /// INTERNAL for an answer that is not gRPC.
  [[nodiscard]] std::string TakeAnswer();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Does a UnaryCall and waits for its answer. Also throws std::system_error, ECANCELED when
/// deadline.cancel_fd is readable.
[[nodiscard]] std::string Call(const CallRequest& request, const Deadline& deadline);

}  // namespace kuryr::kubelet
