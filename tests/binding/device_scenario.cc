#include "tests/binding/device_scenario.h"

#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "binding/links/interfaces.h"
#include "tests/binding/drivers/sriov_driver_fixture.h"
#include "tests/support/fake_pci.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;
using test::FakePci;
using test::PrivateOvs;

constexpr const char* kSysfs = "/run/sys";
constexpr const char* kMountPoint = "/run/mounted";

std::set<std::string> FilesIn(const fs::path& folder) {
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.insert(entry.path());
  return files;
}

class PciDevice : public NodeDevices {
 public:
  PciDevice() : pci_(kSysfs, Mac()) {
    fs::create_directory(kMountPoint);
    RouteSocket host;
    host.CreateVeth({.name = FakePci::kLink, .peer_name = "wire"});
    host.ChangeLink(Find(host, FakePci::kLink), {.mac = MacAddress::Parse(Mac())});
  }
  void Configure(BindingConfig& config) const override {
    config.pci_mount_point = kMountPoint;
    config.sysfs = kSysfs;
  }
  [[nodiscard]] std::set<std::string> State() const override {
    auto state = FilesIn(kMountPoint);
    state.insert("driver " + pci_.Driver());
    return state;
  }

 private:
  static std::string Mac() { return test::DpdkVif(1).address->ToString(); }

  FakePci pci_;
};

template <typename Card>
class CardDevices : public NodeDevices {
 public:
  void Configure(BindingConfig& config) const override { config.sysfs = card_.sysfs.root(); }
  [[nodiscard]] std::set<std::string> State() const override {
    std::set<std::string> state;
    RouteSocket host;
    for (int n = 1; n <= 2; ++n) {
      if (const auto link = host.FindLink(VfLink(n)))
        state.insert(link->name + " " + link->mac.ToString() + " " + std::to_string(link->mtu));
    }
    return state;
  }

 private:
  Card card_;
};

class VhostUserFolders : public NodeDevices {
 public:
  explicit VhostUserFolders(PrivateOvs& ovs) : switch_(ovs.folder()) {
    fs::create_directory(kMountPoint);
    ovs.Vsctl({"set", "Bridge", "br-int", "datapath_type=netdev"});
    ovs.StopVswitchd();
    if (!ovs.StartVswitchdWithDpdk()) ThrowErrno(ENOENT, "find openvswitch-switch-dpdk");
  }
  void Configure(BindingConfig& config) const override {
    config.vhostuser_mount_point = kMountPoint;
    config.ovs_vhu_path = switch_;
  }
  [[nodiscard]] std::set<std::string> State() const override {
    auto state = FilesIn(kMountPoint);
    for (const std::string& file : FilesIn(switch_)) {
      if (fs::path(file).filename().string().rfind("vhu", 0) == 0) state.insert(file);
    }
    return state;
  }

 private:
  fs::path switch_;
};

template <typename Devices>
std::unique_ptr<NodeDevices> Make(PrivateOvs& /*ovs*/) {
  return std::make_unique<Devices>();
}

std::unique_ptr<NodeDevices> MakeFolders(PrivateOvs& ovs) {
  return std::make_unique<VhostUserFolders>(ovs);
}

template <vif::VHostUserMode mode>
vif::Vif VhostUserVif(int n) {
  return test::VhostUserVif(n, mode, kMountPoint);
}

}  // namespace

const std::vector<PlugScenario>& DeviceScenarios() {
  using vif::VHostUserMode;
  using vif::Vif;
  static const std::vector<PlugScenario> all = {
      {.name = "Dpdk",
       .vif = [](int) -> Vif { return test::DpdkVif(1); },
       .peer = "",
       .devices = Make<PciDevice>,
       .names = "/run/mounted|/run/sys/|MAC fa:16:3e:80:d4:01"},
      {.name = "Sriov",
       .vif = [](int n) -> Vif { return SriovVif(n); },
       .devices = Make<CardDevices<FakeCard>>,
       .names = "virtual function 1 of ens1|/run/sys/|/run/kuryr/vfs|vf-0000-03-10-1"},
      {.name = "HostDevice",
       .vif = [](int n) -> Vif { return HostDeviceVif(n); },
       .devices = Make<CardDevices<FakeSwitchCard>>,
       .names = "virtual function 1 of ens1|/run/sys/|/run/kuryr/vfs|vf-0000-03-10-1|wire1|switch "
                "of ens1|"
                "OVSDB find the bridge of port |the attachment's ports"},
      {.name = "VhostUserClient",
       .vif = VhostUserVif<VHostUserMode::kClient>,
       .peer = "",
       .devices = MakeFolders,
       .names = "/run/mounted|/run/ovs-|OVSDB find the bridge of port "},
      {.name = "VhostUserServer",
       .vif = VhostUserVif<VHostUserMode::kServer>,
       .peer = "",
       .devices = MakeFolders,
       .names = "/run/mounted|/run/ovs-|OVSDB find the bridge of port "},
  };
  return all;
}

}  // namespace kuryr::binding
