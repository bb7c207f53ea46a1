#pragma once

#include <condition_variable>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/thread_annotations.h"
#include "config/program_options.h"
#include "service/health_server.h"

namespace kuryr::service {

/// A health server that listens as soon as it can. It tries again every 1 to 5 s while another
/// process has the port, or while the address or the socket's folder is missing. Thread-safe.
class HealthPort {
 public:
  HealthPort(std::string address, uint16_t port, HealthChecks checks);
  HealthPort(const HealthPort&) = delete;
  HealthPort& operator=(const HealthPort&) = delete;

  /// The reason why the server does not listen; nullopt when it does.
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

/// A program's health servers: at its port, unless that is 0, and at its socket, if one is named.
/// They share no thread, so strangers at the port cannot block clients at the socket. Thread-safe.
class Health {
 public:
  Health(const ProgramOptions& program, const HealthChecks& checks);

  /// HealthPort::problem of the port.
  [[nodiscard]] std::optional<std::string> problem() const;

 private:
  std::optional<HealthPort> socket_;
  std::optional<HealthPort> port_;
};

}  // namespace kuryr::service
