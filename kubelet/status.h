#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace kuryr::kubelet {

/// gRPC's status codes (grpc/grpc, doc/statuscodes.md).
enum class StatusCode {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// The end of a call, as in its trailers.
struct Status {
  StatusCode code = StatusCode::kOk;
  std::string message;

  bool operator==(const Status&) const = default;
};

/// A call's status other than OK. what() is "NOT_FOUND: MESSAGE", printable. A server's handler
/// throws it as an answer; a client's call throws the server's answer.
class CallError : public std::runtime_error {
 public:
  explicit CallError(Status status);

  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  Status status_;
};

/// The name of a code: "NOT_FOUND".
[[nodiscard]] const char* ToString(StatusCode code);
/// Parses a decimal grpc-status; kUnknown for other text.
[[nodiscard]] StatusCode ParseStatusCode(std::string_view text);

/// Encode and decode grpc-message: '%' and bytes outside of printable ASCII become "%E2" (gRPC over
/// HTTP/2, "Responses"). Decoding leaves malformed text unchanged.
[[nodiscard]] std::string PercentEncode(std::string_view text);
[[nodiscard]] std::string PercentDecode(std::string_view text);

}  // namespace kuryr::kubelet
