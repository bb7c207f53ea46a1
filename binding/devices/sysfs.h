#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/mac.h"
#include "vif/pci_address.h"

namespace kuryr::binding {

/// The node's network devices and their drivers as the kernel shows them (sysfs(5),
/// Documentation/ABI/testing/sysfs-bus-pci). Keeps nothing, thread-safe. Failures throw
/// std::system_error with the device or file in the text.
class Sysfs {
 public:
  /// `root`: /sys, or a tree like it.
  explicit Sysfs(std::filesystem::path root) : root_(std::move(root)) {}

  /// The network interfaces of the namespace from which /sys was mounted.
  [[nodiscard]] std::vector<std::string> Links() const;
  /// nullopt for a link that is gone, or has no Ethernet address.
  [[nodiscard]] std::optional<MacAddress> MacOf(const std::string& link) const;
  /// The PCI function that is this link's, its own or that of its virtio device. nullopt for what
  /// is virtual or on another bus: the PCI device above a USB adapter is the controller of more.
  [[nodiscard]] std::optional<vif::PciAddress> PciDeviceOf(const std::string& link) const;

  [[nodiscard]] bool Has(const vif::PciAddress& device) const;
  /// nullopt for a device without driver, or that is not there.
  [[nodiscard]] std::optional<std::string> DriverOf(const vif::PciAddress& device) const;
  /// Takes the device from its driver and gives it to another one, whatever that one is made for
  /// (driver_override). When it fails, the device may be left without a driver.
  void Bind(const vif::PciAddress& device, const std::string& driver) const;
  /// Throws for a device that has another driver, or none.
  void RequireBound(const vif::PciAddress& device, const std::string& driver) const;
  /// Gives the device to the driver that the kernel itself chooses for it.
  void BindToDefault(const vif::PciAddress& device) const;

 private:
  [[nodiscard]] std::filesystem::path FolderOf(const vif::PciAddress& device) const;
  [[nodiscard]] std::filesystem::path FolderOf(const std::string& driver) const;
  void Unbind(const vif::PciAddress& device) const;

  std::filesystem::path root_;
};

}  // namespace kuryr::binding
