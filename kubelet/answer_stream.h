#pragma once

#include <cstddef>
#include <string>

#include "kubelet/status.h"

namespace kuryr::kubelet {

/// The answers of one server-streaming call. Its holder may send at any time; it may outlive the
/// call and the server. Only the server's thread may use it: other threads wake the server's loop
/// by an eventfd.
class AnswerStream {
 public:
  virtual ~AnswerStream() = default;

  /// Sends a serialised message: at once as much as the peer takes, the rest by Server::Advance().
  /// Does nothing when the call is over. Ends the call if the peer leaves more than
  /// ServerLimits::queued_bytes unread.
  virtual void Send(const std::string& message) = 0;
  /// Ends the call after the messages sent so far; later messages are not sent.
  virtual void Finish(const Status& status) = 0;
  /// False when the call was finished, cancelled by the peer, is past its deadline, or lost its
  /// connection.
  [[nodiscard]] virtual bool is_open() const = 0;
  /// Bytes that the peer has not taken yet.
  [[nodiscard]] virtual size_t queued() const = 0;
};

}  // namespace kuryr::kubelet
