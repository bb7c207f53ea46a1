#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace kuryr::service {

/// The health server's questions. Its threads call them, several at a time.
struct HealthChecks {
  using Problem = std::function<std::optional<std::string>()>;

  Problem why_not_alive;  ///< only a restart would help
  Problem why_not_ready;  ///< pods could not be plugged now
  std::function<std::string()> metrics;
};

/// GET /alive, /ready and /metrics over HTTP: 200, or 500 that says why not. Answers nothing else.
/// A client gets only a share of the threads (ClientQueue), with 2 s to ask and 2 s to take the
/// answer.
class HealthServer {
 public:
  /// If `address` is a path, the server listens at a unix socket for this user only, and ignores
  /// `port`. Throws std::system_error when it cannot listen at the address.
  HealthServer(const std::string& address, uint16_t port, HealthChecks checks);
  HealthServer(const HealthServer&) = delete;
  HealthServer& operator=(const HealthServer&) = delete;
  ~HealthServer();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace kuryr::service
