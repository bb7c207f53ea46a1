#pragma once

#include <condition_variable>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/program_options.h"
#include "base/thread_annotations.h"
#include "service/health_server.h"

namespace kuryr::service {

/// A health server that listens as soon as it can. While another process has the port, or the host
/// lacks the address or the socket's folder, it tries again 1 to 5 s later. Thread-safe.
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

/// Where a program's health can be asked for: at its port, unless that is 0, and at its socket,
/// unless none is named. They share no thread, so strangers at the port keep nobody at the socket
/// from an answer. Thread-safe.
class Health {
 public:
  Health(const ProgramOptions& program, const HealthChecks& checks);

  /// Of the port, as HealthPort::problem.
  [[nodiscard]] std::optional<std::string> problem() const;

 private:
  std::optional<HealthPort> socket_;
  std::optional<HealthPort> port_;
};

}  // namespace kuryr::service
