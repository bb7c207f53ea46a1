#pragma once

#include <filesystem>
#include <string>

#include "cni/config.h"
#include "cni/doctor/finding.h"

namespace kuryr::cni::doctor {

/// The folders that the runtime reads, as this process sees them.
struct RuntimeFolders {
  std::filesystem::path host = "/";  ///< the node's root
  /// Empty: as the configurations of the node's runtimes say (FindRuntimes).
  std::filesystem::path conf_dir;
  std::filesystem::path bin_dir;
};

struct Runtime {
  Findings findings;
  bool is_standalone = false;  ///< its network is standalone: it needs no API server
};

/// Checks which network configuration each runtime of the node takes, whether its program is there,
/// and whether all its plugins know the versions of CNI that it offers.
[[nodiscard]] Runtime CheckRuntime(const RuntimeFolders& folders);

/// Whether kuryr-cni expects an agent on this node.
[[nodiscard]] bool HasAgent(const Config& config);
/// Checks kuryr-daemon, where the node has one.
[[nodiscard]] Finding CheckAgent(const Config& config);

}  // namespace kuryr::cni::doctor
