#include "devices/inventory.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "binding/devices/vf.h"
#include "binding/netlink/route_socket.h"
#include "devices/sysfs_folder.h"

namespace kuryr::devices {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVirtualFunction = "virtfn";
constexpr std::string_view kUpper = "upper_";

/// The place of a VF below its physical function.
struct Place {
  vif::PciAddress pf_address;
  std::string pf;
  uint32_t number = 0;
};

/// "0x8086" without the prefix, in lower case as the kernel writes it.
std::string HexOf(const std::string& text) {
  return text.starts_with("0x") ? text.substr(2) : text;
}

std::optional<uint16_t> PkeyIn(const std::string& text) {
  const std::string digits = HexOf(text);
  uint16_t pkey = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pkey, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return pkey;
}

std::optional<DeviceType> TypeOfClass(const std::string& pci_class) {
  if (pci_class.starts_with("0x02")) return DeviceType::kNetDevice;
  if (pci_class.starts_with("0x12")) return DeviceType::kAccelerator;
  return std::nullopt;
}

std::optional<Vdpa> FindVdpa(const SysfsFolder& device) {
  constexpr std::string_view kNode = "vhost-vdpa-";
  for (const std::string& name : device.Entries()) {
    if (!name.starts_with("vdpa")) continue;
    const SysfsFolder vdpa = device.At(name);
    const std::string driver = vdpa.TargetOf("driver");
    if (driver == "virtio_vdpa") return Vdpa{.name = name, .type = VdpaType::kVirtio};
    if (driver != "vhost_vdpa") continue;
    for (const std::string& node : vdpa.Entries()) {
      if (node.starts_with(kNode))
        return Vdpa{.name = name, .type = VdpaType::kVhost, .path = "/dev/" + node};
    }
  }
  return std::nullopt;
}

std::string FirstOf(std::vector<std::string> names) {
  return names.empty() ? "" : std::move(names.front());
}

/// Reads a sysfs once.
class Reader {
 public:
  Reader(const fs::path& sysfs, const std::set<std::string>& links_in_use)
      : sysfs_(sysfs), root_(sysfs), links_in_use_(links_in_use) {}

  std::vector<Device> ReadAll() {
    if (!root_.Has("bus")) ThrowErrno(ENOENT, "list " + (sysfs_ / "bus").string());
    const std::vector<std::string> functions = root_.Entries("bus/pci/devices");
    for (const std::string& name : functions) ReadPlaces(name);
    for (const std::string& name : functions) ReadFunction(name);
    for (const std::string& name : root_.Entries("bus/auxiliary/devices")) ReadAuxiliary(name);
    std::sort(found_.begin(), found_.end(),
              [](const Device& a, const Device& b) { return a.id < b.id; });
    return std::move(found_);
  }

 private:
  [[nodiscard]] SysfsFolder FolderOf(const vif::PciAddress& address) const {
    return root_.At("bus/pci/devices").At(address.ToString());
  }

  /// Reads the places of a physical function's VFs, and looks for its link once for all of them.
  void ReadPlaces(const std::string& name) {
    const auto pf = vif::PciAddress::Parse(name);
    if (!pf || !FolderOf(*pf).Has("virtfn0")) return;
    std::optional<std::string> link;
    for (const std::string& entry : FolderOf(*pf).Entries()) {
      if (!entry.starts_with(kVirtualFunction)) continue;
      const auto vf = vif::PciAddress::Parse(FolderOf(*pf).TargetOf(entry));
      const auto number = NumberOf(entry);
      if (!vf || !number) continue;
      if (!link) {
        const auto first = binding::FindVf(sysfs_, *vf);
        link = first ? first->pf : "";
      }
      places_[*vf] = {.pf_address = *pf, .pf = *link, .number = *number};
    }
    parents_.insert(*pf);
  }

  static std::optional<uint32_t> NumberOf(std::string_view entry) {
    const std::string_view digits = entry.substr(kVirtualFunction.size());
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return number;
  }

  void ReadFunction(const std::string& name) {
    const auto address = vif::PciAddress::Parse(name);
    if (!address || parents_.contains(*address)) return;
    const auto type = TypeOfClass(FolderOf(*address).Read("class"));
    if (!type) return;
    Device device{.id = name, .type = *type, .function = *address};
    const SysfsFolder folder = FolderOf(*address);
    ReadIdentity(folder, device);
    if (const auto place = places_.find(*address); place != places_.end()) {
      device.root_device = place->second.pf_address;
      device.pf = place->second.pf;
      device.number = place->second.number;
    } else {
      device.root_device = *address;
      device.pf = FirstOf(folder.Entries("net"));
      if (CarriesAnother(device.pf)) return;
    }
    ReadLink(folder, device);
    if (IsInUse(folder)) return;
    ReadNodes(folder, device);
    device.vdpa = FindVdpa(folder);
    found_.push_back(std::move(device));
  }

  /// Reads an auxiliary device, such as "mlx5_core.sf.2", below its PCI function.
  void ReadAuxiliary(const std::string& name) {
    std::error_code error;
    const fs::path path = fs::canonical(root_.path() / "bus/auxiliary/devices" / name, error);
    const auto parent = vif::PciAddress::Parse(path.parent_path().filename().string());
    const size_t first = name.find('.');
    const size_t last = name.rfind('.');
    if (error || !parent || first == last) return;
    Device device{.id = name, .type = DeviceType::kAuxNetDevice, .function = *parent};
    const SysfsFolder folder(path);
    device.aux_type = name.substr(first + 1, last - first - 1);
    // Other parts than subfunctions belong to the node.
    if (device.aux_type != "sf") return;
    ReadIdentity(FolderOf(*parent), device);
    device.driver = folder.TargetOf("driver");
    device.root_device = *parent;
    device.pf = FirstOf(FolderOf(*parent).Entries("net"));
    if (const auto place = places_.find(*parent); place != places_.end()) {
      device.root_device = place->second.pf_address;
      device.pf = place->second.pf;
    }
    device.number = folder.ReadNumber("sfnum");
    ReadLink(folder, device);
    if (IsInUse(folder)) return;
    ReadNodes(folder, device);
    found_.push_back(std::move(device));
  }

  static void ReadIdentity(const SysfsFolder& folder, Device& device) {
    device.vendor = HexOf(folder.Read("vendor"));
    device.code = HexOf(folder.Read("device"));
    device.driver = folder.TargetOf("driver");
    device.acpi_index = folder.Read("acpi_index");
    // numa_node is -1 on a machine with only one node.
    device.numa_node = folder.ReadNumber("numa_node");
  }

  /// While it is in a pod, a device has the link type of its physical function's link.
  void ReadLink(const SysfsFolder& folder, Device& device) const {
    const bool has_no_link = device.driver.empty() || device.driver.starts_with("vfio") ||
                             device.driver.find("uio") != std::string::npos;
    const std::string own = FirstOf(folder.Entries("net"));
    if (!has_no_link || !own.empty()) device.link_type = LinkTypeOf(own.empty() ? device.pf : own);
    device.rdma_name = FirstOf(folder.Entries("infiniband"));
    const SysfsFolder port = folder.At("infiniband").At(device.rdma_name).At("ports/1/pkeys");
    device.pkey = PkeyIn(own.empty() ? "" : root_.At("class/net").At(own).Read("pkey"));
    if (!device.pkey && !device.rdma_name.empty()) device.pkey = PkeyIn(port.Read("0"));
  }

  [[nodiscard]] std::string LinkTypeOf(const std::string& link) const {
    // ARPHRD_ETHER and ARPHRD_INFINIBAND (linux/if_arp.h).
    if (link.empty()) return "";
    const std::string type = root_.At("class/net").At(link).Read("type");
    return type == "1" ? "ether" : type == "32" ? "infiniband" : "";
  }

  static void ReadNodes(const SysfsFolder& folder, Device& device) {
    for (const char* kind : {"infiniband_verbs", "infiniband_mad"}) {
      for (std::string& node : folder.Entries(kind)) device.rdma_nodes.push_back(std::move(node));
    }
    device.vfio_group = folder.TargetOf("iommu_group");
    device.vfio_without_iommu = folder.Read("iommu_group/name") == "vfio-noiommu";
    device.uio_node = FirstOf(folder.Entries("uio"));
  }

  [[nodiscard]] bool IsInUse(const SysfsFolder& folder) const {
    const auto links = folder.Entries("net");
    return std::any_of(links.begin(), links.end(),
                       [&](const std::string& link) { return links_in_use_.contains(link); });
  }

  [[nodiscard]] bool CarriesAnother(const std::string& link) const {
    if (link.empty()) return false;
    const auto entries = root_.At("class/net").At(link).Entries();
    return std::any_of(entries.begin(), entries.end(), [](const std::string& entry) {
      return entry.starts_with(kUpper) || entry == "master";
    });
  }

  const fs::path& sysfs_;
  const SysfsFolder root_;
  const std::set<std::string>& links_in_use_;
  std::map<vif::PciAddress, Place> places_;
  std::set<vif::PciAddress> parents_;
  std::vector<Device> found_;
};

}  // namespace

std::vector<Device> FindDevices(const fs::path& sysfs, const std::set<std::string>& links_in_use) {
  return Reader(sysfs, links_in_use).ReadAll();
}

std::set<std::string> FindDefaultRouteLinks() {
  binding::RouteSocket host;
  std::set<std::string> names;
  for (const auto& [index, route] : host.Routes()) {
    if (route.destination.prefix_length != 0) continue;
    if (const auto link = host.FindLink(index)) names.insert(link->name);
  }
  return names;
}

}  // namespace kuryr::devices
