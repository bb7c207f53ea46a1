#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kuryr::cni {

/// The folders of runtimes that are not configured otherwise.
inline constexpr const char* kDefaultBinDir = "/opt/cni/bin";
inline constexpr const char* kDefaultConfDir = "/etc/cni/net.d";

/// Where a container runtime of the node looks for CNI's files. Paths are the node's own.
struct RuntimeConfig {
  std::string name = "the runtime";  ///< "containerd", "CRI-O"
  std::filesystem::path file;        ///< that was read; empty: none, and these are the defaults
  std::vector<std::filesystem::path> bin_dirs = {kDefaultBinDir};  ///< it takes the first match
  std::filesystem::path conf_dir = kDefaultConfDir;
  std::string problem;  ///< why a file could not be read; the rest is then a default
};

/// The runtimes that have a configuration on the node whose root is at `root`: containerd
/// (/etc/containerd/config.toml of any version, with its imports) and CRI-O (/etc/crio/crio.conf
/// and crio.conf.d). Without any, one with the defaults.
[[nodiscard]] std::vector<RuntimeConfig> FindRuntimes(const std::filesystem::path& root);

/// `folder` of the node whose root is at `root`.
[[nodiscard]] std::filesystem::path Below(const std::filesystem::path& root,
                                          const std::filesystem::path& folder);

}  // namespace kuryr::cni
