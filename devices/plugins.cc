#include "devices/plugins.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "base/log.h"
#include "config/config_file.h"
#include "devices/inventory.h"
#include "devices/resource_list.h"

namespace kuryr::devices {
namespace {

using namespace std::chrono_literals;

/// The time between scans: PodResources cannot be watched, and the kubelet does not report that a
/// pod ends.
constexpr auto kRescan = 10s;
/// The time until a newly started kubelet knows its pods.
constexpr auto kSettling = 10s;
constexpr auto kMostListing = 1s;

/// Null if no resource has that name.
const Resource* FindResource(const std::vector<Resource>& resources, const std::string& name) {
  const auto found = std::find_if(resources.begin(), resources.end(),
                                  [&](const Resource& each) { return each.FullName() == name; });
  return found == resources.end() ? nullptr : &*found;
}

bool HasPlaces(const Plugin& plugin) {
  return !plugin.devices().empty() && plugin.devices().front().type == DeviceType::kPlace;
}

}  // namespace

Plugins::Plugins(Config config, Metrics& metrics)
    : config_(std::move(config)),
      metrics_(metrics),
      info_(config_.devinfo_dir),
      drain_(config_.devinfo_dir),
      bridges_(config_.bridges, config_.sysfs) {
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
  AddPlugins(resources_);
}

void Plugins::AddPlugins(const std::vector<Resource>& resources) {
  for (const Resource& resource : resources) {
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
  AskForPods();
  TakeBridges();
  try {
    LookForDrain();
    std::vector<Device> devices = FindDevices(config_.sysfs, FindDefaultRouteLinks());
    profiles_.Fill(resources_, devices);
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

/// Takes the bridges as resources. If config.json has a resource of a bridge's name, config.json
/// wins.
void Plugins::TakeBridges() {
  bridge_resources_ = bridges_.Find();
  std::erase_if(bridge_resources_, [&](const Resource& bridge) {
    return FindResource(resources_, bridge.FullName()) != nullptr;
  });
  AddPlugins(bridge_resources_);
}

void Plugins::AskForPods() {
  kubelet_ = FileIdentity::Of(KubeletSocket());
  try {
    pods_ = ListPodDevices(config_.kubelet_dir, Deadline::After(kMostListing));
  } catch (const std::exception& e) {
    pods_.reset();
    Log(LogLevel::kDebug, "the kubelet does not tell what pods have", {{"error", e.what()}});
  }
}

/// The devices that may be in a pod, by all known sources.
Owners Plugins::FindHeld() const {
  Owners held;
  if (pods_) held = pods_->resources;
  for (const auto& [name, plugin] : plugins_) held.merge(plugin.RecentlyAllocated());
  if (!KnowsPods()) held.insert(owners_.begin(), owners_.end());
  return held;
}

bool Plugins::KnowsPods() const { return pods_ && kubelet_ && kubelet_->Age() >= kSettling; }

void Plugins::LookForDrain() {
  const bool drains = drain_.is_on();
  if (drains == drains_) return;
  drains_ = drains;
  Log(LogLevel::kInfo, drains ? "devices are drained" : "devices are drained no longer");
}

void Plugins::Offer(const std::vector<Device>& devices) {
  const Owners held = FindHeld();
  for (auto& [name, plugin] : plugins_) {
    // A bridge's places do not change, and are many.
    if (!HasPlaces(plugin) || FindResource(bridge_resources_, name) == nullptr) {
      std::vector<Device> offered = DevicesOf(name, devices);
      if (offered != plugin.devices()) plugin.Offer(std::move(offered));
    }
    plugin.Withhold(WithheldOf(plugin, held));
    plugin.Tell();
    SetMetrics(name, plugin);
  }
}

std::set<std::string> Plugins::WithheldOf(const Plugin& plugin, const Owners& held) const {
  if (drains_ && !KnowsPods()) return plugin.withheld();
  std::set<std::string> withheld;
  if (!drains_) return withheld;
  for (const Device& device : plugin.devices()) {
    if (!held.contains(device.id)) withheld.insert(device.id);
  }
  return withheld;
}

void Plugins::SetMetrics(const std::string& name, const Plugin& plugin) {
  if (!IsOffered(name)) return metrics_.Forget(name);
  Metrics::Devices counts;
  for (const Device& device : plugin.devices()) {
    const bool is_allocated = pods_ && pods_->resources.contains(device.id);
    ++(is_allocated                            ? counts.allocated
       : plugin.withheld().contains(device.id) ? counts.drained
                                               : counts.free);
  }
  metrics_.SetDevices(name, counts);
  metrics_.SetRegistered(name, plugin.is_registered());
}

std::vector<Device> Plugins::DevicesOf(const std::string& name,
                                       const std::vector<Device>& devices) const {
  if (const Resource* bridge = FindResource(bridge_resources_, name))
    return bridges_.PlacesAt(*bridge);
  std::vector<Device> found;
  for (const Device& device : devices) {
    const auto owner = owners_.find(device.id);
    if (owner != owners_.end() && owner->second == name) found.push_back(device);
  }
  return found;
}

bool Plugins::IsOffered(const std::string& name) const {
  return FindResource(resources_, name) != nullptr ||
         FindResource(bridge_resources_, name) != nullptr;
}

std::filesystem::path Plugins::KubeletSocket() const {
  return config_.kubelet_dir / "device-plugins/kubelet.sock";
}

void Plugins::Keep() {
  if (Clock::now() >= rescan_at_ || FileIdentity::Of(KubeletSocket()) != kubelet_) Rescan();
  for (auto& [name, plugin] : plugins_) {
    if (IsOffered(name)) plugin.Keep();
  }
}

Plugins::Clock::time_point Plugins::DueAt() const {
  auto due = rescan_at_;
  for (const auto& [name, plugin] : plugins_) {
    if (IsOffered(name)) due = std::min(due, plugin.KeepAt());
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
