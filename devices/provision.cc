#include "devices/provision.h"

#include <string_view>

#include "base/log.h"
#include "devices/sysfs_folder.h"

namespace kuryr::devices {
namespace {

void Add(Provision& provision, const std::string& path) { provision.nodes.push_back({path, path}); }

void AddVfio(const Device& device, Provision& provision) {
  constexpr const char* kContainer = "/dev/vfio/vfio";
  Add(provision, kContainer);
  AdditionalInfo& info = provision.info["vfio"];
  info["mount"] = kContainer;
  if (device.vfio_group.empty()) return;
  const std::string folder = "/dev/vfio/";
  const std::string path = folder + device.vfio_group;
  // DPDK looks for the group by its number first.
  const std::string host =
      device.vfio_without_iommu ? folder + "noiommu-" + device.vfio_group : path;
  provision.nodes.push_back({host, path});
  info["dev-mount"] = path;
}

void AddUio(const Device& device, Provision& provision) {
  if (device.uio_node.empty()) return;
  Add(provision, "/dev/" + device.uio_node);
  provision.info["uio"]["mount"] = "/dev/" + device.uio_node;
}

void AddRdma(const Device& device, const SysfsFolder& misc, Provision& provision) {
  AdditionalInfo& info = provision.info["rdma"];
  std::vector<std::string> nodes = device.rdma_nodes;
  if (misc.Has("rdma_cm")) nodes.emplace_back("rdma_cm");
  for (const std::string& node : nodes) {
    const std::string path = "/dev/infiniband/" + node;
    Add(provision, path);
    for (const char* kind : {"uverbs", "umad", "issm", "rdma_cm"}) {
      if (node.starts_with(kind)) info[kind] = path;
    }
  }
  if (!device.rdma_name.empty()) info["rdma_dev"] = device.rdma_name;
}

void AddVhostNet(const Resource& resource, const SysfsFolder& misc, Provision& provision) {
  if (!misc.Has("vhost-net") || !misc.Has("tun")) {
    Log(LogLevel::kWarning, "needVhostNet: the node has no /dev/vhost-net or no /dev/net/tun",
        {{"resource", resource.FullName()}});
    return;
  }
  Add(provision, "/dev/vhost-net");
  Add(provision, "/dev/net/tun");
  provision.info["vhost"] = {{"net-mount", "/dev/vhost-net"}, {"tun-mount", "/dev/net/tun"}};
}

void AddVdpa(const Device& device, Provision& provision) {
  if (!device.vdpa || device.vdpa->path.empty()) return;
  Add(provision, device.vdpa->path);
  provision.info["vdpa"]["mount"] = device.vdpa->path;
}

void AddExtra(const Resource& resource, const Device& device, Provision& provision) {
  AdditionalInfo extra;
  for (const std::string& key : {device.id, std::string("*")}) {
    const auto found = resource.additional_info.find(key);
    if (found != resource.additional_info.end())
      extra.insert(found->second.begin(), found->second.end());
  }
  if (!extra.empty()) provision.info["extra"] = std::move(extra);
}

}  // namespace

Provision ProvisionOf(const Resource& resource, const Device& device,
                      const std::filesystem::path& sysfs) {
  const SysfsFolder misc = SysfsFolder(sysfs).At("class/misc");
  Provision provision;
  provision.info["generic"]["deviceID"] = device.id;
  if (device.driver == "vfio-pci") AddVfio(device, provision);
  if (device.driver.find("uio") != std::string::npos) AddUio(device, provision);
  if (const Selector* selector = resource.Find(device)) {
    if (selector->is_rdma) AddRdma(device, misc, provision);
    if (selector->need_vhost_net) AddVhostNet(resource, misc, provision);
    if (selector->vdpa_type) AddVdpa(device, provision);
  }
  AddExtra(resource, device, provision);
  return provision;
}

}  // namespace kuryr::devices
