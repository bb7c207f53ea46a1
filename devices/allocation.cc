#include "devices/allocation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "devices/provision.h"

namespace kuryr::devices {
namespace {

using kubelet::v1beta1::ContainerAllocateResponse;

void AddNode(const Node& node, ContainerAllocateResponse& response) {
  const auto is_same = [&](const auto& other) {
    return other.container_path() == node.container_path;
  };
  if (std::any_of(response.devices().begin(), response.devices().end(), is_same)) return;
  auto* added = response.add_devices();
  added->set_host_path(node.host_path);
  added->set_container_path(node.container_path);
  added->set_permissions("rw");
}

}  // namespace

std::string VariableOf(const Resource& resource) {
  std::string variable = "PCIDEVICE_" + resource.prefix + "_" + resource.name;
  std::transform(variable.begin(), variable.end(), variable.begin(), [](char c) {
    if (c == '.') return '_';
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return variable;
}

ContainerAllocateResponse Allocate(const Resource& resource, const std::vector<Device>& devices,
                                   const std::filesystem::path& sysfs) {
  ContainerAllocateResponse response;
  if (resource.type == DeviceType::kPlace) return response;
  nlohmann::json info = nlohmann::json::object();
  std::string ids;
  for (const Device& device : devices) {
    const Provision provision = ProvisionOf(resource, device, sysfs);
    for (const Node& node : provision.nodes) AddNode(node, response);
    info[device.id] = provision.info;
    ids += (ids.empty() ? "" : ",") + device.id;
  }
  const std::string variable = VariableOf(resource);
  (*response.mutable_envs())[variable] = ids;
  (*response.mutable_envs())[variable + "_INFO"] = info.dump();
  return response;
}

}  // namespace kuryr::devices
