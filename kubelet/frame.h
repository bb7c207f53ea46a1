#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kuryr::kubelet {

/// A message as gRPC puts it into HTTP/2's DATA: a flag "compressed", four bytes of length, the
/// message (gRPC over HTTP/2, "Length-Prefixed-Message").
[[nodiscard]] std::string Frame(std::string_view message);

/// Takes such messages out of a stream of bytes. Not thread-safe.
class FrameReader {
 public:
  explicit FrameReader(size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Throws CallError: RESOURCE_EXHAUSTED as soon as a message says that it is longer than
  /// `most_bytes`, UNIMPLEMENTED for a compressed one. A second message is INTERNAL, since those
  /// that we read come alone.
  void Add(std::string_view bytes);
  /// Once the stream has ended. Throws CallError, INTERNAL, for half a message, and for none.
  [[nodiscard]] std::string Take();

 private:
  void CheckHeader() const;

  size_t most_bytes_;
  std::string bytes_;           ///< header and message
  std::optional<size_t> size_;  ///< of the message, once its header is there
};

}  // namespace kuryr::kubelet
