#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace kuryr::controller {

/// Why a backend has no VIFs for an owner. what() is for the owner's user: it names the network.
class PlanError : public std::runtime_error {
 public:
  enum class Kind {
    kRetry,      ///< the backend does not answer, or asks for patience
    kExhausted,  ///< no address or id is free; a release may help
    kRefused,    ///< the request is not allowed or cannot be met; another request may help
    kGone,       ///< an object that the request names does not exist
  };

  PlanError(Kind kind, const std::string& message,
            std::optional<std::chrono::milliseconds> retry_after = std::nullopt)
      : std::runtime_error(message), kind_(kind), retry_after_(retry_after) {}

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::optional<std::chrono::milliseconds> retry_after() const noexcept {
    return retry_after_;
  }

 private:
  Kind kind_;
  std::optional<std::chrono::milliseconds> retry_after_;
};

}  // namespace kuryr::controller
