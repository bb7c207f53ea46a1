#include "service/health_port.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "base/backoff.h"
#include "base/log.h"

namespace kuryr::service {

using namespace std::chrono_literals;

HealthPort::HealthPort(std::string address, uint16_t port, HealthChecks checks)
    : address_(std::move(address)), port_(port), checks_(std::move(checks)) {
  if (TryOnce()) return;
  Log(LogLevel::kError, "the health port cannot be had; it will be tried again",
      {{"error", problem().value_or("")}});
  thread_ = std::jthread([this](const std::stop_token& stop) { TryAgain(stop); });
}

std::optional<std::string> HealthPort::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

bool HealthPort::TryOnce() {
  const MutexLock lock(mutex_);
  try {
    server_.emplace(address_, port_, checks_);
    problem_.reset();
  } catch (const std::system_error& e) {
    problem_ = "ask for health and metrics: " + std::string(e.what());
  }
  return !problem_;
}

void HealthPort::TryAgain(const std::stop_token& stop) {
  Backoff backoff(1s, 5s);
  do {
    const MutexLock lock(mutex_);
    changed_.wait_for(mutex_, stop, backoff.Next(), [] { return false; });
    if (stop.stop_requested()) return;
  } while (!TryOnce());
  Log(LogLevel::kInfo, "health and metrics can be asked for",
      {{"address", address_}, {"port", port_}});
}

Health::Health(const ProgramOptions& program, const HealthChecks& checks) {
  if (!program.health_socket.empty()) socket_.emplace(program.health_socket, 0, checks);
  if (program.health_port != 0)
    port_.emplace(program.health_address, static_cast<uint16_t>(program.health_port), checks);
}

std::optional<std::string> Health::problem() const {
  return port_ ? port_->problem() : std::nullopt;
}

}  // namespace kuryr::service
