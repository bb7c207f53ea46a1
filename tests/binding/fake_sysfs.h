#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace kuryr::binding {

/// A folder that looks like /sys to who asks for PCI devices and links. Nothing follows the kernel
/// by itself: a VF's link stays listed until the test takes it away.
class FakeSysfs {
 public:
  explicit FakeSysfs(std::filesystem::path root) : root_(std::move(root)) {
    std::filesystem::create_directories(root_ / "class/net");
  }

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  /// A physical function, whose link is `link`.
  void AddPf(const std::string& address, const std::string& link) {
    AddLink(Device(address), link);
  }
  void AddVf(const std::string& pf, int number, const std::string& address, const std::string& link,
             const std::string& driver = "iavf") {
    std::filesystem::create_directories(Device(address));
    std::filesystem::create_symlink("../" + pf, Device(address) / "physfn");
    std::filesystem::create_symlink("../../../bus/pci/drivers/" + driver,
                                    Device(address) / "driver");
    std::filesystem::create_symlink("../" + address,
                                    Device(pf) / ("virtfn" + std::to_string(number)));
    if (!link.empty()) AddLink(Device(address), link);
  }
  /// Plays the kernel after a VF was moved or renamed; empty: it is in another namespace.
  void SetLinkOf(const std::string& address, const std::string& link) {
    std::filesystem::remove_all(Device(address) / "net");
    if (!link.empty()) AddLink(Device(address), link);
  }
  /// A port of the switch inside a card; of the PF's device, as mlx5 has it.
  void AddPort(const std::string& pf, const std::string& link, const std::string& switch_id,
               const std::string& port_name) {
    AddLink(Device(pf), link);
    SetAttribute(link, "phys_switch_id", switch_id);
    if (!port_name.empty()) SetAttribute(link, "phys_port_name", port_name);
  }
  void SetAttribute(const std::string& link, const std::string& name, const std::string& text) {
    std::ofstream(root_ / "class/net" / link / name) << text << "\n";
  }
  [[nodiscard]] std::filesystem::path Device(const std::string& address) const {
    return root_ / "bus/pci/devices" / address;
  }

 private:
  void AddLink(const std::filesystem::path& device, const std::string& link) {
    std::filesystem::create_directories(device / "net" / link);
    std::filesystem::create_directories(root_ / "class/net" / link);
  }

  std::filesystem::path root_;
};

}  // namespace kuryr::binding
