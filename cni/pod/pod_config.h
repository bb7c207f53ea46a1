#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace kuryr::cni {

/// [kubernetes] vif_source: which objects may have a pod's VIFs.
enum class VifSource { kAny, kAnnotation, kKuryrPort };

/// Options of devices that the kubelet gives to pods.
struct DeviceConfig {
  std::filesystem::path kubelet_dir = "/var/lib/kubelet";  ///< [devices] kubelet_dir
  /// [sriov] physnet_resource_mappings: the kubelet's resource ("intel.com/sriov") by physnet.
  std::map<std::string, std::string> resources;
};

/// Options of PodReporter, which tells nothing when [kubernetes] is not read.
struct ReportConfig {
  bool use_events = false;      ///< [kubernetes] use_events
  bool network_status = false;  ///< [kubernetes] network_status
};

}  // namespace kuryr::cni
