#pragma once

#include <filesystem>
#include <string>

#include "cni/config.h"
#include "cni/doctor/finding.h"

namespace kuryr::cni::doctor {

/// Where the runtime looks: containerd's and CRI-O's defaults.
struct RuntimeFolders {
  std::filesystem::path conf_dir = "/etc/cni/net.d";
  std::filesystem::path bin_dir = "/opt/cni/bin";
};

struct Runtime {
  Findings findings;
  bool is_local = false;  ///< its network is the node's own: no API server tells of it
};

/// Which network configuration the runtime takes, and whether the program that it names is there.
[[nodiscard]] Runtime CheckRuntime(const RuntimeFolders& folders);

/// Whether kuryr-cni is to find one here.
[[nodiscard]] bool HasAgent(const Config& config);
/// kuryr-daemon, where the node has one.
[[nodiscard]] Finding CheckAgent(const Config& config);

}  // namespace kuryr::cni::doctor
