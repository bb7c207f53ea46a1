#pragma once

#include <string>

namespace kuryr::cni {

/// A network configuration list, with CNI's plugin portmap behind kuryr-cni. A list that has other
/// plugins already, or that cannot be read, is returned as it is.
[[nodiscard]] std::string WithPortmap(const std::string& conflist);

}  // namespace kuryr::cni
