#pragma once

#include <string>
#include <vector>

namespace kuryr::cni {

struct Decoding {
  std::vector<std::string> files;  ///< "-": stdin
  bool json = false;
};

/// `kuryr-cni --decode`: the VIFs of each file, as vif::DecodeToJson or vif::DecodeToText has them.
/// The text also says of each VIF by which driver this node would plug it now, or why it refuses
/// the VIF. kuryr.conf (`config_files`, as for LoadConfig) and the node's links decide. Throws
/// std::runtime_error that names the file.
[[nodiscard]] std::string Decode(const Decoding& decoding,
                                 const std::vector<std::string>& config_files);

}  // namespace kuryr::cni
