#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace kuryr::cni {

/// CNI SPEC section 5 "Error"; 8 is libcni's number for a plugin run inside the container's
/// namespace, ours begin at 100, 999 is libcni's "internal error".
enum class ErrorCode {
  kIncompatibleVersion = 1,
  kUnsupportedField = 2,
  kUnknownContainer = 3,
  kInvalidEnvironment = 4,
  kIoFailure = 5,
  kDecodeFailure = 6,
  kInvalidConfig = 7,
  kOwnNetns = 8,
  kTryAgainLater = 11,
  kNotAvailable = 50,      ///< STATUS only: an ADD would fail
  kLimitedService = 51,    ///< STATUS only: running containers may be cut off as well
  kInterfaceExists = 100,  ///< CNI_IFNAME is taken in the container
  kMalformedVif = 101,     ///< the annotation cannot be read
  kUnsupportedVif = 102,   ///< no driver for this type of VIF
  kApiRefused = 103,       ///< the API server is not trusted, or does not let us in
  kDelegateFailure =
      104,             ///< a delegated plugin cannot be run, or gives no answer that we can read
  kCheckFailed = 105,  ///< CHECK found something that is not as the ADD made it
  kInternal = 999,
};

/// The one failure a CNI request ends with.
class CniError : public std::runtime_error {
 public:
  CniError(ErrorCode code, const std::string& message, std::string details = {})
      : std::runtime_error(message), code_(code), details_(std::move(details)) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] const std::string& details() const noexcept { return details_; }

 private:
  ErrorCode code_;
  std::string details_;
};

/// {"cniVersion", "code", "msg", "details"} on one line; `version` is the request's cniVersion.
[[nodiscard]] std::string ErrorJson(const CniError& error, std::string_view version);

}  // namespace kuryr::cni
