#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "kubelet/status.h"

namespace kuryr::kubelet {

/// What is asked of whom.
struct CallRequest {
  std::string socket;                    ///< a path
  std::string method;                    ///< "/v1.PodResourcesLister/List"
  std::string message;                   ///< serialised
  size_t most_bytes = size_t{16} << 20;  ///< of the answer's message
};

/// One gRPC call, on a connection of its own: HTTP/2 in the clear over a unix socket. It has no
/// thread: its owner polls fd() and calls Advance() until that says that the call is over. The
/// destructor cancels what is not. Not thread-safe.
class UnaryCall {
 public:
  /// Connects, and begins. `deadline` is also told to the server; its cancel_fd is not looked at.
  /// Throws std::system_error that names the socket when nobody listens there.
  UnaryCall(const CallRequest& request, const Deadline& deadline);
  /// On a socket that is connected, and does not block.
  UnaryCall(UniqueFd socket, const CallRequest& request, const Deadline& deadline);
  UnaryCall(const UnaryCall&) = delete;
  UnaryCall& operator=(const UnaryCall&) = delete;
  ~UnaryCall();

  /// Readable when Advance() has something to do, the deadline included (an epoll(7) descriptor).
  [[nodiscard]] int fd() const noexcept;
  /// Never blocks. True when the call is over.
  bool Advance();
  /// Once it is over: the answer, serialised. Throws CallError for another status than OK. It is
  /// DEADLINE_EXCEEDED when time was up here or there, UNAVAILABLE for a lost connection, and
  /// INTERNAL for an answer that is no gRPC.
  [[nodiscard]] std::string TakeAnswer();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// The same, waited for. Throws also std::system_error, ECANCELED when deadline.cancel_fd tells so.
[[nodiscard]] std::string Call(const CallRequest& request, const Deadline& deadline);

}  // namespace kuryr::kubelet
