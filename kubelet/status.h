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

/// How a call ended, as its trailers say it.
struct Status {
  StatusCode code = StatusCode::kOk;
  std::string message;

  bool operator==(const Status&) const = default;
};

/// A call that ends with another status than OK. what() is "NOT_FOUND: MESSAGE", printable. A
/// server's handler throws one to answer it; a client's call throws what the server answered.
class CallError : public std::runtime_error {
 public:
  explicit CallError(Status status);

  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  Status status_;
};

/// "NOT_FOUND".
[[nodiscard]] const char* ToString(StatusCode code);
/// grpc-status in decimal; kUnknown for what is no code.
[[nodiscard]] StatusCode ParseStatusCode(std::string_view text);

/// grpc-message on the wire: bytes outside of printable ASCII, and '%', as "%E2" (gRPC over HTTP/2,
/// "Responses"). What is malformed there stays as it is.
[[nodiscard]] std::string PercentEncode(std::string_view text);
[[nodiscard]] std::string PercentDecode(std::string_view text);

}  // namespace kuryr::kubelet
