#pragma once

#include <condition_variable>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/thread_annotations.h"
#include "service/health_server.h"

namespace kuryr::service {

/// A health server that listens as soon as it can. While another process has the port, or the host
/// lacks the address, it tries again 1 to 5 s later. Thread-safe.
class HealthPort {
 public:
  HealthPort(std::string address, uint16_t port, HealthChecks checks);
  HealthPort(const HealthPort&) = delete;
  HealthPort& operator=(const HealthPort&) = delete;

  /// Why nobody can ask there now; nullopt when all can.
  [[nodiscard]] std::optional<std::string> problem() const EXCLUDES(mutex_);

 private:
  void TryAgain(const std::stop_token& stop) EXCLUDES(mutex_);
  /// True once it listens.
  bool TryOnce() EXCLUDES(mutex_);

  const std::string address_;
  const uint16_t port_;
  const HealthChecks checks_;
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<std::string> problem_ GUARDED_BY(mutex_);
  std::optional<HealthServer> server_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses all of the above
};

/// A health port, or nothing where `port` is 0: it is switched off.
[[nodiscard]] std::optional<HealthPort> ServeHealth(const std::string& address, uint32_t port,
                                                    const HealthChecks& checks);

}  // namespace kuryr::service
