#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace kuryr::watcher {

/// The API server refused a request: the fields of its Status object (meta/v1), or of the bare HTTP
/// answer.
class ApiError : public std::runtime_error {
 public:
  static constexpr int kUnauthorized = 401;
  static constexpr int kForbidden = 403;
  static constexpr int kNotFound = 404;
  static constexpr int kConflict = 409;
  static constexpr int kGone = 410;  ///< the version asked for is no longer there
  static constexpr int kTooManyRequests = 429;

  ApiError(int code, std::string reason, const std::string& message,
           std::optional<std::chrono::seconds> retry_after = std::nullopt)
      : std::runtime_error(message),
        code_(code),
        reason_(std::move(reason)),
        retry_after_(retry_after) {}

  [[nodiscard]] int code() const noexcept { return code_; }                         ///< 403
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }      ///< "Forbidden"
  [[nodiscard]] std::optional<std::chrono::seconds> retry_after() const noexcept {  ///< Retry-After
    return retry_after_;
  }
  /// Whether the server refused the client or its rate, and not what was asked for.
  [[nodiscard]] bool IsOfClient() const noexcept {
    return code_ == kUnauthorized || code_ == kForbidden || code_ == kTooManyRequests;
  }
  /// Whether ApiClient refused the answer for its size.
  [[nodiscard]] bool IsTooLarge() const noexcept { return reason_ == "AnswerTooLarge"; }

 private:
  int code_;
  std::string reason_;
  std::optional<std::chrono::seconds> retry_after_;
};

/// The server gave no answer: it does not listen, or the connection broke or fell silent.
class ApiUnavailable : public std::runtime_error {
 public:
  /// `request`: "GET /api/v1/pods"
  explicit ApiUnavailable(const std::string& cause, const std::string& request = "")
      : std::runtime_error(request.empty() ? cause : cause + " (" + request + ")"), cause_(cause) {}

  /// The message without the request.
  [[nodiscard]] const std::string& cause() const noexcept { return cause_; }

 private:
  std::string cause_;
};

/// The TLS handshake failed, and another try cannot help: unknown authority, wrong name, expired
/// certificate, unreadable certificate or key file.
class ApiUntrusted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kuryr::watcher
