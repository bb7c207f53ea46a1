#include "devices/device_info.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "binding/devices/pod_folder.h"
#include "devices/sysfs_folder.h"

namespace kuryr::devices {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kVersion = "1.1.0";
constexpr std::string_view kEnding = "-device.json";

std::string WithoutSlashes(std::string text) {
  std::replace(text.begin(), text.end(), '/', '-');
  return text;
}

std::string PrefixOf(const std::string& resource) { return WithoutSlashes(resource) + "-"; }

std::string FileOf(const std::string& resource, const std::string& device) {
  return PrefixOf(resource) + WithoutSlashes(device) + std::string(kEnding);
}

json InfoOf(const Device& device) {
  json info;
  if (device.vdpa) {
    info = {{"parent-device", device.vdpa->name},
            {"driver", device.vdpa->type == VdpaType::kVhost ? "vhost" : "virtio"},
            {"path", device.vdpa->path}};
  }
  info["pci-address"] = device.function.ToString();
  if (device.root_device != device.function) info["pf-pci-address"] = device.root_device.ToString();
  if (!device.vdpa && !device.rdma_name.empty()) info["rdma-device"] = device.rdma_name;
  const char* type = device.vdpa ? "vdpa" : "pci";
  return {{"type", type}, {"version", kVersion}, {type, std::move(info)}};
}

/// Whether a file belongs to `resource`; another resource's name may begin with its name.
bool IsFileOf(const std::string& name, const std::string& resource) {
  const std::string prefix = PrefixOf(resource);
  if (!name.starts_with(prefix) || !name.ends_with(kEnding)) return false;
  const std::string_view device = std::string_view(name).substr(prefix.size());
  return vif::PciAddress::Parse(device.substr(0, device.size() - kEnding.size())).has_value();
}

}  // namespace

Owners DeviceInfoFolder::Read(const std::vector<Resource>& resources,
                              const std::vector<Device>& devices) const {
  Owners owners;
  for (const Resource& resource : resources) {
    for (const Device& device : devices) {
      std::error_code error;
      if (fs::exists(folder_ / FileOf(resource.FullName(), device.id), error))
        owners.emplace(device.id, resource.FullName());
    }
  }
  return owners;
}

void DeviceInfoFolder::Write(const std::vector<Resource>& resources,
                             const std::vector<Device>& devices, const Owners& owners) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) ThrowErrno(error.value(), "create " + folder_.string());
  std::map<std::string, std::string> wanted;
  for (const Device& device : devices) {
    const auto owner = owners.find(device.id);
    if (owner == owners.end() || device.type != DeviceType::kNetDevice) continue;
    wanted[FileOf(owner->second, device.id)] = InfoOf(device).dump();
  }
  const binding::PodFolder folder(folder_, "[devices] devinfo_dir");
  for (const std::string& name : SysfsFolder(folder_).Entries()) {
    const bool is_ours =
        std::any_of(resources.begin(), resources.end(),
                    [&](const Resource& resource) { return IsFileOf(name, resource.FullName()); });
    if (is_ours && !wanted.contains(name)) folder.Remove(name);
  }
  for (const auto& [name, text] : wanted) {
    if (folder.Read(name) != text) folder.Write(name, text);
  }
}

}  // namespace kuryr::devices
