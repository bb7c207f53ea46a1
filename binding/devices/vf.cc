#include "binding/devices/vf.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "binding/devices/sysfs.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;

fs::path DeviceAt(const fs::path& sysfs, const vif::PciAddress& address) {
  return sysfs / "bus/pci/devices" / address.ToString();
}

/// The last part of what a symbolic link points to; empty where there is none.
std::string TargetOf(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = ::readlink(path.c_str(), buffer.data(), buffer.size());
  if (size < 0 && errno != ENOENT) ThrowErrno("read " + path);
  const std::string_view target(buffer.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return std::string(target.substr(target.rfind('/') + 1));
}

/// The entries of a folder that may be missing.
std::vector<std::string> EntriesOf(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  if (error && error != std::errc::no_such_file_or_directory)
    ThrowErrno(error.value(), "list " + folder.string());
  return names;
}

std::vector<std::string> LinkNamesAt(const fs::path& folder) {
  std::vector<std::string> names = EntriesOf(folder);
  std::erase_if(names, [](const std::string& name) { return !IsLinkName(name); });
  std::sort(names.begin(), names.end());
  return names;
}

/// An attribute of a link; empty also where its driver does not answer.
std::string ReadAttribute(const fs::path& sysfs, const std::string& link, const char* name) {
  std::array<char, 64> text{};
  std::ifstream file(sysfs / "class/net" / link / name);
  file.read(text.data(), text.size());
  const std::string_view line(text.data(), static_cast<size_t>(file.gcount()));
  return std::string(line.substr(0, line.find('\n')));
}

bool AreDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The link of the physical function itself. With a switch, representors are links of its device.
std::string FindUplink(const fs::path& sysfs, const vif::PciAddress& pf) {
  for (const std::string& link : LinkNamesAt(DeviceAt(sysfs, pf) / "net")) {
    const std::string port = ReadAttribute(sysfs, link, "phys_port_name");
    if (port.empty() || (port.front() == 'p' && AreDigits(std::string_view(port).substr(1))))
      return link;
  }
  return "";
}

/// PCI Express' Requester ID, in which the VFs of a card are at one distance from each other.
int RoutingIdOf(const vif::PciAddress& address) {
  return address.bus << 8 | address.slot << 3 | address.function;
}

/// From the first two, for a card may have hundreds; what is not where they say is looked for.
std::optional<uint32_t> FindNumber(const fs::path& pf, const vif::PciAddress& vf) {
  const auto at = [folder = (pf / "virtfn").string()](uint32_t number) {
    return TargetOf(folder + std::to_string(number));
  };
  const std::string wanted = vf.ToString();
  const auto first = vif::PciAddress::Parse(at(0));
  const auto second = vif::PciAddress::Parse(at(1));
  if (first && second) {
    const int stride = RoutingIdOf(*second) - RoutingIdOf(*first);
    const int offset = RoutingIdOf(vf) - RoutingIdOf(*first);
    if (stride > 0 && offset > 0) {
      const auto number = static_cast<uint32_t>(offset / stride);
      if (at(number) == wanted) return number;
    }
  }
  for (uint32_t number = 0;; ++number) {
    const std::string target = at(number);
    if (target.empty()) return std::nullopt;
    if (target == wanted) return number;
  }
}

}  // namespace

std::string Vf::ToString() const { return "virtual function " + address.ToString(); }

std::optional<Vf> FindVf(const fs::path& sysfs, const vif::PciAddress& address) {
  const fs::path device = DeviceAt(sysfs, address);
  const auto pf = vif::PciAddress::Parse(TargetOf(device / "physfn"));
  if (!pf) return std::nullopt;
  const auto number = FindNumber(DeviceAt(sysfs, *pf), address);
  if (!number) return std::nullopt;
  const auto links = LinkNamesAt(device / "net");
  return Vf{.address = address,
            .driver = Sysfs(sysfs).DriverOf(address).value_or(""),
            .link = links.empty() ? "" : links.front(),
            .pf_address = *pf,
            .pf = FindUplink(sysfs, *pf),
            .number = *number};
}

std::string FindUpper(const fs::path& sysfs, const Vf& vf) {
  constexpr std::string_view kPrefix = "upper_";
  for (const std::string& name : EntriesOf(DeviceAt(sysfs, vf.address) / "net" / vf.link)) {
    if (name.rfind(kPrefix, 0) == 0) return name.substr(kPrefix.size());
  }
  return "";
}

std::string FindRepresentor(const fs::path& sysfs, const Vf& vf, const std::string& expected) {
  const std::string switch_id = ReadAttribute(sysfs, vf.pf, "phys_switch_id");
  if (switch_id.empty())
    ThrowErrno(ENODEV, "find the switch of " + vf.pf + " (its eswitch mode is not switchdev)");
  const std::string number = std::to_string(vf.number);
  const std::string name = "pf" + std::to_string(vf.pf_address.function) + "vf" + number;
  for (const std::string& link : Sysfs(sysfs).Links()) {
    if (link == vf.pf || ReadAttribute(sysfs, link, "phys_switch_id") != switch_id) continue;
    const std::string port = ReadAttribute(sysfs, link, "phys_port_name");
    if (port == name || port == number || (port.empty() && link == expected)) return link;
  }
  ThrowErrno(ENODEV, "find the representor of " + vf.ToString() + " (port " + name +
                         " of the switch of " + vf.pf + ")");
}

}  // namespace kuryr::binding
