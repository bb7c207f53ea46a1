#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace kuryr::controller::neutron {

/// Why Neutron, or Keystone before it, did not carry out a request. what() is for users: it names
/// the request, its object and the answer, but never a token or password.
class NeutronError : public std::runtime_error {
 public:
  enum class Kind {
    kUnavailable,   ///< no connection, no answer in time, 5xx, or no answer of Neutron's: ask again
    kThrottled,     ///< 429: ask again after retry_after()
    kUnauthorized,  ///< 401, also with a new token; Keystone refuses the credentials
    kForbidden,     ///< 403 PolicyNotAuthorized
    kUntrusted,     ///< the server's certificate, or our own files for TLS: asking again won't do
    kNotFound,      ///< 404
    kConflict,      ///< 409 of any other type: IpAddressAlreadyAllocated, MacAddressInUse
    kQuota,         ///< 409 OverQuota
    kExhausted,     ///< 409 IpAddressGenerationFailure: the subnet is full
    kPrecondition,  ///< 412 RevisionNumberConstraintFailed
    kTooLong,       ///< 414: the URL
    kBadRequest,    ///< 400, and every other 4xx
  };

  /// The answer, as far as there was one.
  struct Answer {
    int status = 0;    ///< 0: there was none
    std::string type;  ///< NeutronError's: "OverQuota"; empty without one
    std::optional<std::chrono::seconds> retry_after;
    /// The request was sent, and it is not known whether Neutron carried it out. After a POST, the
    /// caller looks for the object before it asks again.
    bool uncertain = false;
  };

  NeutronError(Kind kind, const std::string& message, Answer answer)
      : std::runtime_error(message), kind_(kind), answer_(std::move(answer)) {}

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] int status() const noexcept { return answer_.status; }
  [[nodiscard]] const std::string& type() const noexcept { return answer_.type; }
  /// The Retry-After of a 429 or a 503.
  [[nodiscard]] std::optional<std::chrono::seconds> retry_after() const noexcept {
    return answer_.retry_after;
  }
  [[nodiscard]] bool uncertain() const noexcept { return answer_.uncertain; }

 private:
  Kind kind_;
  Answer answer_;
};

}  // namespace kuryr::controller::neutron
