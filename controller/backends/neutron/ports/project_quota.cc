#include "controller/backends/neutron/ports/project_quota.h"

#include "base/log.h"

namespace kuryr::controller::neutron {

std::optional<PortQuota> ProjectQuota::Find() noexcept {
  const MutexLock lock(mutex_);
  const auto now = Clock::now();
  if (asked_ && now < *asked_ + kFresh) return known_;
  asked_ = now;
  try {
    if (const auto quota = api_.GetPortQuota(project_)) known_ = quota;
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "Neutron does not tell the project's quota", {{"error", e.what()}});
  }
  return known_;
}

}  // namespace kuryr::controller::neutron
