#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kuryr::kubelet {

/// Frames a message for HTTP/2's DATA: a flag "compressed", four bytes of length, the message (gRPC
/// over HTTP/2, "Length-Prefixed-Message").
[[nodiscard]] std::string Frame(std::string_view message);

/// Reads a framed message from a stream of bytes. Not thread-safe.
class FrameReader {
 public:
  explicit FrameReader(size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Throws CallError: RESOURCE_EXHAUSTED once a message's header has more than `most_bytes`, and
  /// UNIMPLEMENTED for a compressed message. A second message is INTERNAL, because these calls have
  /// one message.
  void Add(std::string_view bytes);
  /// Returns the message; call it once the stream has ended. Throws CallError, INTERNAL, for half a
  /// message or none.
  [[nodiscard]] std::string Take();
  /// The bytes that it keeps.
  [[nodiscard]] size_t size() const noexcept { return bytes_.size(); }

 private:
  void CheckHeader() const;

  size_t most_bytes_;
  std::string bytes_;           ///< header and message
  std::optional<size_t> size_;  ///< of the message, once its header is there
};

}  // namespace kuryr::kubelet
