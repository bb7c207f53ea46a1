#pragma once

#include <filesystem>
#include <string>

namespace kuryr::cni {

/// The files that a node gets, and where its folders are mounted.
struct Installation {
  std::filesystem::path host = "/host";  ///< the node's root: folders below are there
  /// Where the program goes; empty: to kDefaultBinDir, and where the node's runtimes look first.
  std::filesystem::path bin_dir;
  /// Where the network configuration goes; empty: where the node's runtimes look.
  std::filesystem::path conf_dir;
  /// Source of the node's file, with its drop-ins.
  std::filesystem::path kuryr_conf = "/etc/kuryr/kuryr.conf";
  std::filesystem::path conflist = "/usr/local/share/kuryr-cni/10-kuryr.conflist";
  bool leaves_out_portmap = false;  ///< WithPortmap is for nodes whose runtimes find portmap
};

/// Puts this program, kuryr.conf and the network configuration on the node. Each takes its place by
/// rename, since runtimes read and execute them at any time. The configuration comes last: it makes
/// the node ready. It offers the versions of CNI that all its plugins know. Returns what it did, a
/// line for each file, and which folder of a runtime it did not reach. Throws std::runtime_error,
/// with nothing changed where a source cannot be read.
[[nodiscard]] std::string Install(const Installation& installation);

}  // namespace kuryr::cni
