#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/thread_annotations.h"
#include "controller/backends/neutron/api/neutron_api.h"

namespace kuryr::controller::neutron {

/// How many ports the pods' project may have. Asked when Neutron refuses a port, at most once in
/// ten seconds. Thread-safe.
class ProjectQuota {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kFresh{10};

  /// Borrows the API.
  ProjectQuota(NeutronApi& api, std::string project) : api_(api), project_(std::move(project)) {}

  /// The newest figures; nullopt: Neutron has given none.
  [[nodiscard]] std::optional<PortQuota> Find() noexcept EXCLUDES(mutex_);

 private:
  NeutronApi& api_;
  const std::string project_;
  Mutex mutex_;
  std::optional<PortQuota> known_ GUARDED_BY(mutex_);
  std::optional<Clock::time_point> asked_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller::neutron
