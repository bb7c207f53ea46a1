#pragma once

#include <cstddef>
#include <string>

#include "kubelet/status.h"

namespace kuryr::kubelet {

/// The answers of one server-streaming call. Whoever holds it may send whenever there is news; it
/// outlives the call, and the server. To be used by the server's thread alone: others wake the loop
/// that the server is in (an eventfd of its own).
class AnswerStream {
 public:
  virtual ~AnswerStream() = default;

  /// A serialised message. It leaves at once as far as the peer takes it, and by Server::Advance()
  /// later. Does nothing when the call is over. A peer that leaves more than
  /// ServerLimits::queued_bytes unread loses the call.
  virtual void Send(const std::string& message) = 0;
  /// Ends the call after what was sent; nothing is sent after it.
  virtual void Finish(const Status& status) = 0;
  /// False when it was finished, cancelled by the peer, past its deadline, or lost with the
  /// connection.
  [[nodiscard]] virtual bool is_open() const = 0;
  /// Bytes that the peer has not taken yet.
  [[nodiscard]] virtual size_t queued() const = 0;
};

}  // namespace kuryr::kubelet
