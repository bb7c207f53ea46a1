#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/resource.h"
#include "kubelet/deviceplugin.pb.h"

namespace kuryr::devices {

/// "PCIDEVICE_INTEL_COM_SRIOV_NET", the variable of a container's environment that lists its
/// devices by comma. With "_INFO" behind it, the one that has JSON of each of them.
[[nodiscard]] std::string VariableOf(const Resource& resource);

/// What a container with these devices of `resource` gets.
[[nodiscard]] kubelet::v1beta1::ContainerAllocateResponse Allocate(
    const Resource& resource, const std::vector<Device>& devices,
    const std::filesystem::path& sysfs);

}  // namespace kuryr::devices
