#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/resource.h"
#include "kubelet/deviceplugin.pb.h"

namespace kuryr::devices {

/// "PCIDEVICE_INTEL_COM_SRIOV_NET", the environment variable that lists a container's devices,
/// separated by commas. With the suffix "_INFO" it is the variable with each device's JSON.
[[nodiscard]] std::string VariableOf(const Resource& resource);

/// The answer for a container with these devices of `resource`.
[[nodiscard]] kubelet::v1beta1::ContainerAllocateResponse Allocate(
    const Resource& resource, const std::vector<Device>& devices,
    const std::filesystem::path& sysfs);

}  // namespace kuryr::devices
