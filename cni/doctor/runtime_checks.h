#pragma once

#include <filesystem>
#include <string>

#include "cni/config.h"
#include "cni/doctor/finding.h"

namespace kuryr::cni::doctor {

/// The folders that the runtime reads. The defaults are those of containerd and CRI-O.
struct RuntimeFolders {
  std::filesystem::path conf_dir = "/etc/cni/net.d";
  std::filesystem::path bin_dir = "/opt/cni/bin";
};

struct Runtime {
  Findings findings;
  bool is_standalone = false;  ///< its network is standalone: it needs no API server
};

/// Checks which network configuration the runtime takes, and whether its program is there.
[[nodiscard]] Runtime CheckRuntime(const RuntimeFolders& folders);

/// Whether kuryr-cni expects an agent on this node.
[[nodiscard]] bool HasAgent(const Config& config);
/// Checks kuryr-daemon, where the node has one.
[[nodiscard]] Finding CheckAgent(const Config& config);

}  // namespace kuryr::cni::doctor
