#pragma once

#include <string>
#include <vector>

namespace kuryr::cni {

struct Decoding {
  std::vector<std::string> files;  ///< "-": stdin
  bool json = false;
};

/// `kuryr-cni decode`: prints the VIFs of each file by vif::DecodeToJson or vif::DecodeToText.
/// The text also tells which driver would plug each VIF on this node now, or why none would.
/// kuryr.conf (`config_files`, as for LoadConfig) and the node's links decide. Throws
/// std::runtime_error that names the file.
[[nodiscard]] std::string Decode(const Decoding& decoding,
                                 const std::vector<std::string>& config_files);

}  // namespace kuryr::cni
