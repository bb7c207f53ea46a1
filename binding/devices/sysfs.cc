#include "binding/devices/sysfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;

/// As the kernel wants it: in one write(2).
void Write(const fs::path& file, const std::string& text) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd) ThrowErrno("open " + file.string());
  if (::write(fd.get(), text.data(), text.size()) < 0)
    ThrowErrno("write " + Printable(text) + " to " + file.string());
}

}  // namespace

std::vector<std::string> Sysfs::Links() const {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = root_ / "class/net";
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  if (error) ThrowErrno(error.value(), "list " + folder.string());
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<MacAddress> Sysfs::MacOf(const std::string& link) const {
  std::ifstream file(root_ / "class/net" / link / "address");
  std::string text;
  std::getline(file, text);
  return MacAddress::Parse(text);
}

std::optional<vif::PciAddress> Sysfs::PciDeviceOf(const std::string& link) const {
  std::error_code none;
  fs::path device = fs::canonical(root_ / "class/net" / link / "device", none);
  if (device.filename().string().rfind("virtio", 0) == 0) device = device.parent_path();
  return vif::PciAddress::Parse(device.filename().string());
}

bool Sysfs::Has(const vif::PciAddress& device) const { return fs::exists(FolderOf(device)); }

std::optional<std::string> Sysfs::DriverOf(const vif::PciAddress& device) const {
  const fs::path link = FolderOf(device) / "driver";
  std::error_code error;
  const fs::path driver = fs::read_symlink(link, error);
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  if (error) ThrowErrno(error.value(), "read " + link.string());
  return driver.filename();
}

void Sysfs::Bind(const vif::PciAddress& device, const std::string& driver) const {
  if (!fs::exists(FolderOf(driver) / "bind")) {
    ThrowErrno(ENOENT, "bind PCI device " + device.ToString() + " to driver " + driver +
                           ", which the kernel does not have (modprobe " + driver + ")");
  }
  Unbind(device);
  Write(FolderOf(device) / "driver_override", driver);
  Write(FolderOf(driver) / "bind", device.ToString());
}

void Sysfs::RequireBound(const vif::PciAddress& device, const std::string& driver) const {
  const auto now = DriverOf(device);
  if (now == driver) return;
  ThrowErrno(EIO, "bind PCI device " + device.ToString() + " to driver " + driver + ": it has " +
                      now.value_or("none"));
}

void Sysfs::BindToDefault(const vif::PciAddress& device) const {
  Unbind(device);
  Write(FolderOf(device) / "driver_override", "\n");
  Write(root_ / "bus/pci/drivers_probe", device.ToString());
  if (!DriverOf(device))
    ThrowErrno(ENODEV, "find a driver of the kernel's for PCI device " + device.ToString());
}

fs::path Sysfs::FolderOf(const vif::PciAddress& device) const {
  return root_ / "bus/pci/devices" / device.ToString();
}

fs::path Sysfs::FolderOf(const std::string& driver) const {
  return root_ / "bus/pci/drivers" / driver;
}

void Sysfs::Unbind(const vif::PciAddress& device) const {
  if (const auto driver = DriverOf(device)) Write(FolderOf(*driver) / "unbind", device.ToString());
}

}  // namespace kuryr::binding
