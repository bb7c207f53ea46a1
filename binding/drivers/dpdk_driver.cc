#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "binding/devices/pod_folder.h"
#include "binding/devices/sysfs.h"
#include "binding/drivers/drivers.h"
#include "binding/links/interfaces.h"
#include "binding/parts/driver.h"
#include "binding/plan/vif_fields.h"
#include "binding/try_all.h"

namespace kuryr::binding {
namespace {

constexpr const char* kPciMountPoint = "[nested_dpdk] pci_mount_point";

struct PciDevice {
  std::string link;
  vif::PciAddress address;
};

/// The PCI device whose link has the MAC. A VLAN, bridge or bond on it has its MAC as well, and is
/// passed over.
PciDevice FindDevice(const Sysfs& sysfs, const MacAddress& mac) {
  std::string what = "find the PCI device with MAC " + mac.ToString();
  std::optional<PciDevice> found;
  for (const std::string& link : sysfs.Links()) {
    if (sysfs.MacOf(link) != mac) continue;
    const auto address = sysfs.PciDeviceOf(link);
    if (!address) continue;
    if (found) ThrowErrno(ENOTUNIQ, what.append(": both ").append(found->link) + " and " + link);
    found = PciDevice{.link = link, .address = *address};
  }
  if (!found) {
    ThrowErrno(ENODEV, what +
                           ": no network interface has it (is the port attached to the node, "
                           "and its device not in use by another pod?)");
  }
  return *found;
}

/// The device's link, which the node does not use; otherwise throws HostInterfaceInUse. An
/// annotation could name the MAC of the node's own uplink. A link that is up is in use: it has
/// addresses, or a switch or VLAN on top of it that does not show here.
Link RequireSpare(const Sysfs& sysfs, const PciDevice& device) {
  RouteSocket host;
  Link link = Find(host, device.link);
  std::string what =
      "host interface " + link.name + " (PCI device " + device.address.ToString() + ") ";
  if (link.up) {
    throw HostInterfaceInUse(what +
                             "is up, so the node itself uses it; if not, set it down and "
                             "keep the node's network configuration from setting it up");
  }
  if (link.master != 0) throw HostInterfaceInUse(what + "is a port of another one");
  for (const std::string& other : sysfs.Links()) {
    if (other != link.name && sysfs.PciDeviceOf(other) == device.address)
      throw HostInterfaceInUse(what.append("is the same device as ") + other);
  }
  return link;
}

/// The PCI device, which changes from the kernel's network driver to one for DPDK. The pod's file
/// says whose the device is, so it is there before the change and until the device is given back.
class DevicePart final : public Part {
 public:
  DevicePart(PlugSite& site, const Sysfs& sysfs) : Part(site), sysfs_(sysfs) {}

  void Require() override {
    const Planned& planned = site().planned();
    const PciDevice device = FindDevice(sysfs_, planned.mac);
    if (device.address != Address())
      ThrowErrno(ENODEV,
                 "find " + planned.mac.ToString() + " on PCI device " + site().plug().device);
    mtu_ = planned.mtu.On(RequireSpare(sysfs_, device).mtu);
    folder_.emplace(site().config().pci_mount_point, kPciMountPoint);
  }
  void Check(Differences& found) override {
    CheckFile(found);
    const std::string& device = site().plug().device;
    const std::string& wanted = site().config().dpdk_driver;
    const auto driver = sysfs_.DriverOf(Address());
    if (driver == wanted) return;
    found.push_back({.kind = DifferenceKind::kDevice,
                     .what = device,
                     .expected = wanted,
                     .found = driver.value_or(""),
                     .text = "PCI device " + device + " has driver " + driver.value_or("none") +
                             " instead of " + wanted});
  }
  void Make() override {
    folder_->Write(FileOf(site().attachment()), site().plug().device);
    sysfs_.Bind(Address(), site().config().dpdk_driver);
    is_ours_ = true;
    sysfs_.RequireBound(Address(), site().config().dpdk_driver);
  }
  [[nodiscard]] std::optional<Interface> Await() override {
    return Interface{
        .name = site().plug().ifname, .mac = site().planned().mac, .mtu = mtu_, .in_pod = true};
  }
  void Remove(const Attachment& owner) override {
    const auto folder = PodFolder::OpenIfExists(site().config().pci_mount_point);
    if (!folder) return;
    if (folder->Read(FileOf(owner))) Unbind(Address());
    folder->Remove(FileOf(owner));
  }
  void Undo() override {
    TryAll steps;
    steps.Try([&] {
      // Another pod's ADD for the same MAC may have been faster.
      if (is_ours_ || !sysfs_.DriverOf(Address())) sysfs_.BindToDefault(Address());
    });
    steps.Try([&] { folder_->Remove(FileOf(site().attachment())); });
    steps.Finish();
  }

 private:
  [[nodiscard]] vif::PciAddress Address() const { return PciAddressOf(site().plug()); }
  [[nodiscard]] std::string FileOf(const Attachment& owner) const {
    return PodFolder::FileOf(owner, site().plug().ifname);
  }
  void CheckFile(Differences& found) {
    const std::string& device = site().plug().device;
    const std::string file = FileOf(site().attachment());
    const std::string path = site().config().pci_mount_point / file;
    const auto folder = PodFolder::OpenIfExists(site().config().pci_mount_point);
    const auto text = folder ? folder->Read(file) : std::nullopt;
    if (text == device) return;
    const std::string says =
        text ? " says \"" + Printable(*text) + "\" instead of " + device : " is missing";
    found.push_back({.kind = DifferenceKind::kFile,
                     .what = path,
                     .expected = device,
                     .found = text.value_or(""),
                     .text = "file " + path + says});
  }
  /// A file in a folder that pods mount may name any device, such as the disk's. Only a device that
  /// has the driver for DPDK, or was left half-way without a driver, is taken.
  void Unbind(const vif::PciAddress& device) const {
    if (!sysfs_.Has(device)) return;
    const auto driver = sysfs_.DriverOf(device);
    if (driver && *driver != site().config().dpdk_driver) return;
    sysfs_.BindToDefault(device);
  }

  const Sysfs& sysfs_;
  std::optional<PodFolder> folder_;
  uint32_t mtu_ = 0;
  bool is_ours_ = false;
};

class DpdkDriver final : public Driver {
 public:
  explicit DpdkDriver(DriverContext context)
      : Driver(std::move(context)), sysfs_(context_.config.sysfs) {}

  [[nodiscard]] Plug ChoosePlug(const vif::Vif& vif, const std::string& ifname) const override {
    const auto& own = OwnVif<vif::VifNestedDpdk>(vif, kDpdkDriver);
    const MacAddress& mac = vif::Required(own.address, "$.address");
    const std::string address = FindDevice(sysfs_, mac).address.ToString();
    const std::string wanted = own.pci_address.value_or("");
    if (!wanted.empty() && vif::PciAddress::Parse(wanted) != vif::PciAddress::Parse(address)) {
      throw ParseError("$.pci_address", "\"" + Printable(wanted) +
                                            "\" is not the device with the VIF's MAC, which is " +
                                            address);
    }
    return {.driver = kDpdkDriver, .ifname = ifname, .device = address};
  }

  [[nodiscard]] Planned PlanWith(const vif::PodVif& vif, const Plug& plug) const override {
    return PlanCommon(vif, plug, context_.config);
  }

  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& /*deadline*/) const override {
    const auto folder = PodFolder::OpenIfExists(context_.config.pci_mount_point);
    const auto text =
        folder ? folder->Read(PodFolder::FileOf(attachment, attachment.ifname)) : std::nullopt;
    if (!text || !vif::PciAddress::Parse(*text)) return {};
    return {{.driver = kDpdkDriver, .ifname = attachment.ifname, .device = *text}};
  }

 protected:
  [[nodiscard]] Parts PartsOf(PlugSite& site) const override {
    Parts parts;
    Add<DevicePart>(parts, site, sysfs_);
    return parts;
  }

 private:
  Sysfs sysfs_;
};

}  // namespace

std::unique_ptr<Driver> NewDpdkDriver(const DriverContext& context) {
  return std::make_unique<DpdkDriver>(context);
}

}  // namespace kuryr::binding
