#include "controller/commands/command_backend.h"

#include <chrono>
#include <stdexcept>

namespace kuryr::controller {
namespace {

constexpr std::chrono::minutes kReleaseTime{1};

}  // namespace

CommandBackend::CommandBackend(const Config& config)
    : backend_(config.backend->Make({.wake =
                                         [this](const Owner&) {
                                           const MutexLock lock(mutex_);
                                           ++wakes_;
                                           woken_.notify_all();
                                         },
                                     .may_write = [this] { return may_write_.load(); }})) {}

void CommandBackend::ReleaseNow(const std::string& owner_id) {
  may_write_ = true;
  const auto end = std::chrono::steady_clock::now() + kReleaseTime;
  size_t heard = 0;
  while (!backend_->Release(owner_id)) {
    const MutexLock lock(mutex_);
    const bool woken = woken_.wait_until(
        mutex_, end, [&]() KURYR_TSA(requires_capability(mutex_)) { return wakes_ > heard; });
    if (!woken) throw std::runtime_error("the backend has not released it within a minute");
    heard = wakes_;
  }
}

}  // namespace kuryr::controller
