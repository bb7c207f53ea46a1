#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "devices/bridges.h"
#include "devices/config.h"
#include "devices/ddp_profiles.h"
#include "devices/device_info.h"
#include "devices/drain.h"
#include "devices/metrics.h"
#include "devices/ownership.h"
#include "devices/plugin.h"
#include "devices/pod_devices.h"
#include "devices/resource.h"

namespace kuryr::devices {

/// The node's device plugins: its resources, and the resource of each device. A pod's device stays
/// with its resource, even if its driver or config.json changes. Not thread-safe; see Plugin.
class Plugins {
 public:
  using Clock = std::chrono::steady_clock;

  /// Reads config.json, and the devices. Throws ConfigError. `metrics` is borrowed.
  Plugins(Config config, Metrics& metrics);

  /// Reads config.json again. Logs a malformed one, and then changes nothing.
  void Reload();
  /// Reads devices, bridges and pods' devices again. Logs a failure, and then changes nothing.
  void Rescan();
  /// Calls Keep() of each plugin that is due, after a Rescan() if that is due.
  void Keep();
  /// The time at which Keep() is due without an event.
  [[nodiscard]] Clock::time_point DueAt() const;

  [[nodiscard]] std::vector<int> Fds() const;
  void Advance();

 private:
  void Take(std::vector<Resource> resources);
  void AddPlugins(const std::vector<Resource>& resources);
  void TakeBridges();
  void AskForPods();
  void LookForDrain();
  [[nodiscard]] Owners FindHeld() const;
  /// Whether the kubelet answers, and has had the time to find its pods.
  [[nodiscard]] bool KnowsPods() const;
  void Offer(const std::vector<Device>& devices);
  void SetMetrics(const std::string& name, const Plugin& plugin);
  /// The plugin's devices that no pod is known to have, while the node is drained.
  [[nodiscard]] std::set<std::string> WithheldOf(const Plugin& plugin, const Owners& held) const;
  [[nodiscard]] std::vector<Device> DevicesOf(const std::string& name,
                                              const std::vector<Device>& devices) const;
  /// Whether a resource is in config.json, or is an existing bridge.
  [[nodiscard]] bool IsOffered(const std::string& name) const;
  [[nodiscard]] std::filesystem::path KubeletSocket() const;

  const Config config_;
  Metrics& metrics_;
  const DeviceInfoFolder info_;
  const Drain drain_;
  Bridges bridges_;
  DdpProfiles profiles_ = DdpProfiles::OfKernel();
  std::vector<Resource> resources_;         ///< of config.json
  std::vector<Resource> bridge_resources_;  ///< of the last scan
  std::map<std::string, Plugin> plugins_;   ///< also those that are offered no longer
  Owners owners_;                        ///< as of the last scan, or of a process before this one
  bool drains_ = false;                  ///< as of the last scan
  std::optional<PodDevices> pods_;       ///< nullopt: the kubelet does not answer
  std::optional<FileIdentity> kubelet_;  ///< whose answer that is
  std::optional<std::string> problem_;   ///< logged last
  Clock::time_point rescan_at_;
};

}  // namespace kuryr::devices
