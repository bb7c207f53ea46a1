#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#include "tests/binding/fake_sysfs.h"

namespace kuryr::devices {

/// A temporary folder; the destructor removes it.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "devices-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category());
    path_ = name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A sysfs with two Intel cards, "ens1" on NUMA node 0 and "ens2" on node 1, and what a test adds.
class FakeDevices : public binding::FakeSysfs {
 public:
  explicit FakeDevices(const std::filesystem::path& root) : FakeSysfs(root) {
    AddCard("0000:03:00.0", "ens1", 0);
    AddCard("0000:05:00.0", "ens2", 1);
  }

  /// Sets attributes of a PCI device.
  void Set(const std::string& address, const std::map<std::string, std::string>& attributes) {
    for (const auto& [name, value] : attributes) Write(Device(address) / name, value);
  }
  void AddCard(const std::string& address, const std::string& link, int numa_node) {
    AddPf(address, link);
    SetAttribute(link, "type", "1");
    SetIdentity(address, "0x158b", numa_node);
  }
  /// Adds VFs to a PF: "0000:03:10.0" is VF 0 of "0000:03:00.0", "0000:05:10.3" VF 3 of
  /// "0000:05:00.0".
  void AddVfs(const std::string& pf, int count, const std::string& driver = "iavf") {
    for (int number = 0; number < count; ++number) AddOneVf(pf, number, driver);
  }
  void AddOneVf(const std::string& pf, int number, const std::string& driver = "iavf") {
    const std::string address = pf.substr(0, 8) + "10." + std::to_string(number);
    const std::string link =
        driver == "iavf" ? "v" + pf.substr(5, 2) + "n" + std::to_string(number) : "";
    AddVf(pf, number, address, link, driver);
    if (!link.empty()) SetAttribute(link, "type", "1");
    SetIdentity(address, "0x154c", pf == "0000:03:00.0" ? 0 : 1);
  }
  void SetDriver(const std::string& address, const std::string& driver) {
    std::filesystem::remove(Device(address) / "driver");
    std::filesystem::create_symlink("../../../bus/pci/drivers/" + driver,
                                    Device(address) / "driver");
  }
  void RemoveVf(const std::string& pf, int number, const std::string& address) {
    std::filesystem::remove(Device(pf) / ("virtfn" + std::to_string(number)));
    std::filesystem::remove_all(Device(address));
  }
  /// Adds a folder below a device, such as "infiniband_verbs/uverbs0".
  void AddFolder(const std::string& address, const std::string& name) {
    std::filesystem::create_directories(Device(address) / name);
  }
  static void Write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }

 private:
  void SetIdentity(const std::string& address, const std::string& code, int numa_node) {
    Set(address, {{"class", "0x020000"},
                  {"vendor", "0x8086"},
                  {"device", code},
                  {"numa_node", std::to_string(numa_node)}});
  }
};

}  // namespace kuryr::devices
