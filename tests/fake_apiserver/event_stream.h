#pragma once

#include <string>
#include <string_view>

#include "tests/fake_apiserver/connection.h"
#include "tests/fake_apiserver/faults.h"

namespace kuryr::fake {

/// The body of a watch's answer: one chunk per event, as the API server frames it, unless tampered
/// with. Belongs to the connection's thread. Once a method has answered false the stream is over.
class EventStream {
 public:
  EventStream(Connection& connection, Tamper tamper)
      : connection_(connection), tamper_(std::move(tamper)) {}

  /// The head of the answer.
  [[nodiscard]] bool Start(bool keep_alive);
  /// `object` is JSON.
  [[nodiscard]] bool SendEvent(std::string_view type, const std::string& object);
  /// Bytes that are no event; not counted as one.
  [[nodiscard]] bool SendRaw(std::string_view bytes);
  /// Sends the last chunk.
  void Finish();
  /// Ends the connection in the middle.
  void Cut();

  /// True when the stream ended in order, so that the connection can take a next request.
  [[nodiscard]] bool finished() const noexcept { return finished_; }

 private:
  [[nodiscard]] bool AfterEvent();
  [[nodiscard]] bool SendSlowly(std::string_view bytes);

  Connection& connection_;
  const Tamper tamper_;
  const Signal never_;
  size_t bytes_ = 0;
  size_t events_ = 0;
  bool finished_ = false;
};

}  // namespace kuryr::fake
