#include "devices/plugins.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "base/config_file.h"
#include "base/log.h"
#include "devices/inventory.h"
#include "devices/resource_list.h"

namespace kuryr::devices {
namespace {

using namespace std::chrono_literals;

/// Whatever nobody tells of: pods that end above all.
constexpr auto kRescan = 10s;
/// A kubelet that has just started does not know its pods yet.
constexpr auto kSettling = 10s;
constexpr auto kMostAsking = 1s;

}  // namespace

Plugins::Plugins(Config config, Metrics& metrics)
    : config_(std::move(config)), metrics_(metrics), info_(config_.devinfo_dir) {
  Take(ReadResourceList(config_.config_file, config_.resource_prefix));
  Rescan();
}

void Plugins::Reload() {
  try {
    auto resources = ReadResourceList(config_.config_file, config_.resource_prefix);
    metrics_.SetConfigProblem(std::nullopt);
    if (resources == resources_) return;
    Log(LogLevel::kInfo, "resources are read anew", {{"resources", resources.size()}});
    Take(std::move(resources));
    Rescan();
  } catch (const ConfigError& e) {
    metrics_.SetConfigProblem(e.what());
    Log(LogLevel::kError, "resources stay as they were", {{"error", e.what()}});
  }
}

void Plugins::Take(std::vector<Resource> resources) {
  resources_ = std::move(resources);
  for (const Resource& resource : resources_) {
    const auto [plugin, added] =
        plugins_.try_emplace(resource.FullName(), resource,
                             Plugin::Ground{.folder = config_.kubelet_dir / "device-plugins",
                                            .sysfs = config_.sysfs,
                                            .metrics = metrics_});
    if (!added) plugin->second.SetResource(resource);
  }
}

void Plugins::Rescan() {
  rescan_at_ = Clock::now() + kRescan;
  try {
    AskForPods();
    const std::vector<Device> devices = FindDevices(config_.sysfs, FindDefaultRouteLinks());
    if (owners_.empty()) owners_ = info_.Read(resources_, devices);
    owners_ = FindOwners(resources_, devices, FindHeld());
    Offer(devices);
    info_.Write(resources_, devices, owners_);
    problem_.reset();
  } catch (const std::exception& e) {
    if (problem_ != e.what())
      Log(LogLevel::kError, "devices cannot be read; they stay as they were",
          {{"error", e.what()}});
    problem_ = e.what();
  }
  metrics_.SetScanProblem(problem_);
}

void Plugins::AskForPods() {
  kubelet_ = FileIdentity::Of(KubeletSocket());
  try {
    pods_ = ListPodDevices(config_.kubelet_dir, Deadline::After(kMostAsking));
  } catch (const std::exception& e) {
    pods_.reset();
    Log(LogLevel::kDebug, "the kubelet does not tell what pods have", {{"error", e.what()}});
  }
}

/// What may be in a pod, by the best that is known.
Owners Plugins::FindHeld() const {
  Owners held;
  if (pods_) held = pods_->resources;
  for (const auto& [name, plugin] : plugins_) held.merge(plugin.RecentlyAllocated());
  if (!pods_ || !kubelet_ || kubelet_->Age() < kSettling)
    held.insert(owners_.begin(), owners_.end());
  return held;
}

void Plugins::Offer(const std::vector<Device>& devices) {
  for (auto& [name, plugin] : plugins_) {
    std::vector<Device> offered;
    size_t allocated = 0;
    for (const Device& device : devices) {
      const auto owner = owners_.find(device.id);
      if (owner == owners_.end() || owner->second != name) continue;
      if (pods_ && pods_->resources.contains(device.id)) ++allocated;
      offered.push_back(device);
    }
    metrics_.SetDevices(name, offered.size() - allocated, allocated);
    metrics_.SetRegistered(name, plugin.is_registered());
    plugin.Offer(std::move(offered));
    if (!IsConfigured(name)) metrics_.Forget(name);
  }
}

bool Plugins::IsConfigured(const std::string& name) const {
  return std::any_of(resources_.begin(), resources_.end(),
                     [&](const Resource& resource) { return resource.FullName() == name; });
}

std::filesystem::path Plugins::KubeletSocket() const {
  return config_.kubelet_dir / "device-plugins/kubelet.sock";
}

void Plugins::Keep() {
  if (Clock::now() >= rescan_at_ || FileIdentity::Of(KubeletSocket()) != kubelet_) Rescan();
  for (auto& [name, plugin] : plugins_) {
    if (IsConfigured(name)) plugin.Keep();
  }
}

Plugins::Clock::time_point Plugins::DueAt() const {
  auto due = rescan_at_;
  for (const auto& [name, plugin] : plugins_) {
    if (IsConfigured(name)) due = std::min(due, plugin.KeepAt());
  }
  return due;
}

std::vector<int> Plugins::Fds() const {
  std::vector<int> fds;
  for (const auto& [name, plugin] : plugins_) {
    for (const int fd : plugin.Fds()) fds.push_back(fd);
  }
  return fds;
}

void Plugins::Advance() {
  for (auto& [name, plugin] : plugins_) plugin.Advance();
}

}  // namespace kuryr::devices
