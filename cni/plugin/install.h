#pragma once

#include <filesystem>
#include <string>

namespace kuryr::cni {

/// Where the image's container has the node's root, and its network configuration.
inline constexpr const char* kImageRoot = "/host";
inline constexpr const char* kImageConflist = "/usr/local/share/kuryr-cni/10-kuryr.conflist";

/// The files that a node gets, and where its folders are mounted.
struct Installation {
  /// The node's root: folders below are there. Empty: kImageRoot, or this machine's without it.
  std::filesystem::path host;
  /// Where the program goes; empty: to kDefaultBinDir, and where the node's runtimes look first.
  std::filesystem::path bin_dir;
  /// Where the network configuration goes; empty: where the node's runtimes look.
  std::filesystem::path conf_dir;
  /// Source of the node's file, with its drop-ins.
  std::filesystem::path kuryr_conf = "/etc/kuryr/kuryr.conf";
  std::filesystem::path conflist;   ///< empty: the image's, or the Debian package's
  bool leaves_out_portmap = false;  ///< WithPortmap is for nodes whose runtimes find portmap
  bool only_tells = false;          ///< writes nothing
};

/// Puts this program, kuryr.conf and the network configuration on the node. Each takes its place by
/// rename, since runtimes read and execute them at any time. The configuration comes last: it makes
/// the node ready. It offers the versions of CNI that all its plugins know. A kuryr.conf that is
/// the node's own already stays. Returns what it did, or would do, a line for each file, and which
/// folder of a runtime it did not reach. Throws std::runtime_error, with nothing changed, if a
/// source cannot be read, or if nobody has named the root of a machine that has another network
/// configuration.
[[nodiscard]] std::string Install(const Installation& installation);

}  // namespace kuryr::cni
