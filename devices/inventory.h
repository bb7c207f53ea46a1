#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "devices/device.h"

namespace kuryr::devices {

/// The node's devices that pods may have, by id: network functions and accelerators of PCI, and
/// network devices of the auxiliary bus. It leaves out physical functions with VFs, and devices
/// that the node needs. These are the devices of `links_in_use`, and physical functions whose link
/// carries another link or is a port. Throws std::system_error if `sysfs` is no sysfs.
[[nodiscard]] std::vector<Device> FindDevices(const std::filesystem::path& sysfs,
                                              const std::set<std::string>& links_in_use);

/// The links through which default routes lead, in the calling thread's namespace. Throws
/// std::system_error.
[[nodiscard]] std::set<std::string> FindDefaultRouteLinks();

}  // namespace kuryr::devices
