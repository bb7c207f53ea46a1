#include "devices/metrics.h"

#include <utility>

namespace kuryr::devices {

void Metrics::SetDevices(const std::string& resource, const Devices& devices) {
  const MutexLock lock(mutex_);
  resources_[resource].devices = devices;
}

void Metrics::SetRegistered(const std::string& resource, bool registered) {
  const MutexLock lock(mutex_);
  resources_[resource].registered = registered;
}

void Metrics::CountRegistration(const std::string& resource, bool failed) {
  const MutexLock lock(mutex_);
  ++(failed ? resources_[resource].failed_registrations : resources_[resource].registrations);
}

void Metrics::CountAllocation(const std::string& resource, bool failed) {
  const MutexLock lock(mutex_);
  ++(failed ? resources_[resource].failed_allocations : resources_[resource].allocations);
}

void Metrics::Forget(const std::string& resource) {
  const MutexLock lock(mutex_);
  resources_.erase(resource);
}

void Metrics::SetConfigProblem(std::optional<std::string> problem) {
  const MutexLock lock(mutex_);
  config_problem_ = std::move(problem);
}

void Metrics::SetScanProblem(std::optional<std::string> problem) {
  const MutexLock lock(mutex_);
  scan_problem_ = std::move(problem);
}

std::optional<std::string> Metrics::WhyNotReady() const {
  const MutexLock lock(mutex_);
  if (scan_problem_) return scan_problem_;
  for (const auto& [name, resource] : resources_) {
    if (!resource.registered) return name + " is not registered with the kubelet";
  }
  return std::nullopt;
}

std::string Metrics::Text() const {
  const MutexLock lock(mutex_);
  service::MetricsText text;
  text.Metric("kuryr_devices_config_invalid", "gauge",
              "1 while config.json is malformed, and the former one is used.",
              config_problem_ ? 1 : 0);
  text.Head("kuryr_devices_offered", "gauge", "Devices that are offered, by state.");
  for (const auto& [name, resource] : resources_) {
    const std::pair<const char*, size_t> states[] = {{"free", resource.devices.free},
                                                     {"allocated", resource.devices.allocated},
                                                     {"drained", resource.devices.drained}};
    for (const auto& [state, count] : states)
      text.Sample("kuryr_devices_offered", {{"resource", name}, {"state", state}},
                  static_cast<double>(count));
  }
  text.Head("kuryr_devices_registered", "gauge", "1 while the kubelet knows the resource.");
  for (const auto& [name, resource] : resources_)
    text.Sample("kuryr_devices_registered", {{"resource", name}}, resource.registered ? 1 : 0);
  text.Head("kuryr_devices_registrations_total", "counter", "Registrations with a kubelet.");
  for (const auto& [name, resource] : resources_)
    text.Sample("kuryr_devices_registrations_total", {{"resource", name}},
                static_cast<double>(resource.registrations));
  text.Head("kuryr_devices_registration_errors_total", "counter", "Registrations that failed.");
  for (const auto& [name, resource] : resources_)
    text.Sample("kuryr_devices_registration_errors_total", {{"resource", name}},
                static_cast<double>(resource.failed_registrations));
  text.Head("kuryr_devices_allocations_total", "counter", "Containers that were given devices.");
  for (const auto& [name, resource] : resources_)
    text.Sample("kuryr_devices_allocations_total", {{"resource", name}},
                static_cast<double>(resource.allocations));
  text.Head("kuryr_devices_allocation_errors_total", "counter",
            "Containers that asked for devices that are not there.");
  for (const auto& [name, resource] : resources_)
    text.Sample("kuryr_devices_allocation_errors_total", {{"resource", name}},
                static_cast<double>(resource.failed_allocations));
  text.Head("kuryr_devices_build_info", "gauge", "1, with the version of kuryr-devices.");
  text.Sample("kuryr_devices_build_info", {{"version", KURYR_VERSION}}, 1);
  return text.text();
}

}  // namespace kuryr::devices
