#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/rollback.h"
#include "binding/devices/pod_folder.h"
#include "binding/devices/sysfs.h"
#include "binding/drivers/drivers.h"
#include "binding/interfaces.h"
#include "binding/vif_fields.h"

namespace kuryr::binding {
namespace {

constexpr const char* kPciMountPoint = "[nested_dpdk] pci_mount_point";

struct PciDevice {
  std::string link;
  vif::PciAddress address;
};

/// What stands on a device (VLAN, bridge, bond) has its MAC too, but is none.
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

/// Whoever writes an annotation can name the MAC of the node's own uplink. A link that is up is in
/// use: it has addresses, or a switch or VLAN on top of it that does not show here.
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

class DpdkDriver final : public Driver {
 public:
  explicit DpdkDriver(DriverContext context)
      : context_(std::move(context)), sysfs_(context_.config.sysfs) {}

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

  std::vector<Interface> Connect(const PlugRequest& request) override {
    const auto& [planned, attachment, pod, deadline] = request;
    const Plug& plug = planned.plug;
    const PciDevice device = FindDevice(sysfs_, planned.mac);
    if (device.address != PciAddressOf(plug))
      ThrowErrno(ENODEV, "find " + planned.mac.ToString() + " on PCI device " + plug.device);
    const Link link = RequireSpare(sysfs_, device);
    const PodFolder folder(context_.config.pci_mount_point, kPciMountPoint);
    const std::string file = PodFolder::FileOf(attachment, plug.ifname);

    // The file says whose the device is, so it is there before and after.
    folder.Write(file, plug.device);
    Rollback remove_file([&] { TryUndo(link.name, [&] { folder.Remove(file); }); });
    // Another pod's ADD for the same MAC may have been faster.
    bool is_ours = false;
    Rollback unbind([&] {
      TryUndo(link.name, [&] {
        if (is_ours || !sysfs_.DriverOf(device.address)) sysfs_.BindToDefault(device.address);
      });
    });
    sysfs_.Bind(device.address, context_.config.dpdk_driver);
    is_ours = true;
    sysfs_.RequireBound(device.address, context_.config.dpdk_driver);
    unbind.Dismiss();
    remove_file.Dismiss();
    return {
        {.name = plug.ifname, .mac = planned.mac, .mtu = planned.mtu.On(link.mtu), .in_pod = true}};
  }

  [[nodiscard]] std::optional<std::string> Check(const PlugRequest& request) const override {
    const Plug& plug = request.planned.plug;
    const std::string file = PodFolder::FileOf(request.attachment, plug.ifname);
    const std::string path = context_.config.pci_mount_point / file;
    const auto folder = PodFolder::OpenIfExists(context_.config.pci_mount_point);
    const auto text = folder ? folder->Read(file) : std::nullopt;
    if (!text) return "file " + path + " is missing";
    if (*text != plug.device)
      return "file " + path + " says \"" + Printable(*text) + "\" instead of " + plug.device;
    const auto driver = sysfs_.DriverOf(PciAddressOf(plug));
    if (driver != context_.config.dpdk_driver) {
      return "PCI device " + plug.device + " has driver " + driver.value_or("none") +
             " instead of " + context_.config.dpdk_driver;
    }
    return std::nullopt;
  }

  void Disconnect(const Plug& plug, const Attachment& attachment,
                  const Deadline& /*deadline*/) override {
    const auto folder = PodFolder::OpenIfExists(context_.config.pci_mount_point);
    const std::string file = PodFolder::FileOf(attachment, plug.ifname);
    if (!folder) return;
    if (folder->Read(file)) Unbind(PciAddressOf(plug));
    folder->Remove(file);
  }

  [[nodiscard]] std::vector<Plug> FindPlugs(const Attachment& attachment,
                                            const Deadline& /*deadline*/) const override {
    const auto folder = PodFolder::OpenIfExists(context_.config.pci_mount_point);
    const auto text =
        folder ? folder->Read(PodFolder::FileOf(attachment, attachment.ifname)) : std::nullopt;
    if (!text || !vif::PciAddress::Parse(*text)) return {};
    return {{.driver = kDpdkDriver, .ifname = attachment.ifname, .device = *text}};
  }

 private:
  /// A file in a folder that pods mount may name any device, such as the disk's. Only a device that
  /// has the driver for DPDK, or was left half-way without a driver, is taken.
  void Unbind(const vif::PciAddress& device) const {
    if (!sysfs_.Has(device)) return;
    const auto driver = sysfs_.DriverOf(device);
    if (driver && *driver != context_.config.dpdk_driver) return;
    sysfs_.BindToDefault(device);
  }

  DriverContext context_;
  Sysfs sysfs_;
};

}  // namespace

std::unique_ptr<Driver> NewDpdkDriver(const DriverContext& context) {
  return std::make_unique<DpdkDriver>(context);
}

}  // namespace kuryr::binding
