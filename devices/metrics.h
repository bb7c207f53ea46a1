#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/thread_annotations.h"
#include "service/metrics_text.h"

namespace kuryr::devices {

/// Counts offered devices, and actions since the start, by resource ("intel.com/sriov_net").
/// Thread-safe.
class Metrics {
 public:
  /// The numbers of a resource's devices that are free, that the kubelet has given to a pod, and
  /// that are drained.
  struct Devices {
    size_t free = 0;
    size_t allocated = 0;
    size_t drained = 0;
  };

  void SetDevices(const std::string& resource, const Devices& devices) EXCLUDES(mutex_);
  void SetRegistered(const std::string& resource, bool registered) EXCLUDES(mutex_);
  void CountRegistration(const std::string& resource, bool failed) EXCLUDES(mutex_);
  void CountAllocation(const std::string& resource, bool failed) EXCLUDES(mutex_);
  /// Forgets a resource that is no longer in config.json.
  void Forget(const std::string& resource) EXCLUDES(mutex_);
  /// Sets the reason why config.json or the node's devices cannot be read; nullopt if they can.
  void SetConfigProblem(std::optional<std::string> problem) EXCLUDES(mutex_);
  void SetScanProblem(std::optional<std::string> problem) EXCLUDES(mutex_);

  /// The reason why pods cannot get all devices now; nullopt if they can.
  [[nodiscard]] std::optional<std::string> WhyNotReady() const EXCLUDES(mutex_);
  /// The metrics in Prometheus' text format.
  [[nodiscard]] std::string Text() const EXCLUDES(mutex_);

 private:
  struct OfResource {
    Devices devices;
    bool registered = false;
    uint64_t registrations = 0;
    uint64_t failed_registrations = 0;
    uint64_t allocations = 0;
    uint64_t failed_allocations = 0;
  };

  mutable Mutex mutex_;
  std::map<std::string, OfResource> resources_ GUARDED_BY(mutex_);
  std::optional<std::string> config_problem_ GUARDED_BY(mutex_);
  std::optional<std::string> scan_problem_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::devices
