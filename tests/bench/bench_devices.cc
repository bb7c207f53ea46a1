#include "tests/bench/bench_devices.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "binding/netlink/route_socket.h"
#include "tests/binding/fake_sysfs.h"
#include "tests/binding/vifs.h"
#include "tests/support/fake_pci.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;
using test::FakePci;

constexpr const char* kSysfs = "/run/sys";
constexpr const char* kMountPoint = "/run/mounted";
constexpr const char* kPf = "0000:03:00.0";
constexpr const char* kSwitch = "a1";

std::string VfAddress(int n) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0000:%02x:%02x.%x", 4 + n / 256, n / 8 % 32, n % 8);
  return text.data();
}

class Card : public BenchDevices {
 public:
  explicit Card(int pods) : last_(pods), sysfs_(kSysfs) {
    RouteSocket host;
    host.CreateVeth({.name = "ens1", .peer_name = "ens1-wire", .mtu = 9000});
    sysfs_.AddPf(kPf, "ens1");
    for (int n = 0; n <= last_; ++n) {
      const std::string number = std::to_string(n);
      host.CreateVeth({.name = "wire" + number, .peer_name = "ens1v" + number, .mtu = 1600});
      sysfs_.AddVf(kPf, n, VfAddress(n), "ens1v" + number);
    }
  }
  void Configure(BindingConfig& config) const override { config.sysfs = kSysfs; }
  void Assign(vif::Vif& vif, int n) const override {
    const auto address = *vif::PciAddress::Parse(VfAddress(std::min(n - 1, last_)));
    if (auto* sriov = std::get_if<vif::VifSriov>(&vif)) sriov->dev_address = address;
    if (auto* device = std::get_if<vif::VifHostDevice>(&vif)) device->dev_address = address;
  }
  void AddSwitch() {
    sysfs_.SetAttribute("ens1", "phys_switch_id", kSwitch);
    sysfs_.SetAttribute("ens1", "phys_port_name", "p0");
    for (int n = 0; n <= last_; ++n) {
      const std::string number = std::to_string(n);
      sysfs_.AddPort(kPf, "wire" + number, kSwitch, "pf0vf" + number);
    }
  }

 private:
  int last_;
  FakeSysfs sysfs_;
};

class PciDevice : public BenchDevices {
 public:
  explicit PciDevice(int pods) : pci_(kSysfs, Mac().ToString()) {
    fs::create_directory(kMountPoint);
    for (int n = 0; n < pods; ++n)
      std::ofstream(fs::path(kMountPoint) / ("other-" + std::to_string(n) + "-eth0"))
          << VfAddress(n);
    RouteSocket host;
    host.CreateVeth({.name = FakePci::kLink, .peer_name = "ens5-wire"});
  }
  void Configure(BindingConfig& config) const override {
    config.pci_mount_point = kMountPoint;
    config.sysfs = kSysfs;
  }
  void Assign(vif::Vif& vif, int /*n*/) const override { vif::Common(vif).address = Mac(); }

 private:
  static MacAddress Mac() { return *test::DpdkVif(1).address; }

  FakePci pci_;
};

class VhostUserFolders : public BenchDevices {
 public:
  explicit VhostUserFolders(test::PrivateOvs& ovs) : switch_(ovs.folder()) {
    fs::create_directory(kMountPoint);
    ovs.Vsctl({"set", "Bridge", "br-int", "datapath_type=netdev"});
    ovs.StopVswitchd();
    if (!ovs.StartVswitchdWithDpdk(test::DpdkMemory::kShared))
      ThrowErrno(ENOENT, "find openvswitch-switch-dpdk");
    // ovs-vswitchd logs every port at every change, and its output is not read.
    test::RunProgram({.argv = {"ovs-appctl", "--target", switch_ / "ovs-vswitchd.ctl", "vlog/set",
                               "console:off"}});
  }
  void Configure(BindingConfig& config) const override {
    config.vhostuser_mount_point = kMountPoint;
    config.ovs_vhu_path = switch_;
  }
  void Assign(vif::Vif& vif, int n) const override {
    auto& own = std::get<vif::VifVHostUser>(vif);
    own.vif_name = "vhu" + std::to_string(n);
    own.path = (fs::path(kMountPoint) / *own.vif_name).string();
  }

 private:
  fs::path switch_;
};

}  // namespace

std::unique_ptr<BenchDevices> MakeCard(test::PrivateOvs& /*ovs*/, int pods) {
  return std::make_unique<Card>(pods);
}

std::unique_ptr<BenchDevices> MakeSwitchCard(test::PrivateOvs& /*ovs*/, int pods) {
  auto card = std::make_unique<Card>(pods);
  card->AddSwitch();
  return card;
}

std::unique_ptr<BenchDevices> MakePciDevice(test::PrivateOvs& /*ovs*/, int pods) {
  return std::make_unique<PciDevice>(pods);
}

std::unique_ptr<BenchDevices> MakeVhostUserFolders(test::PrivateOvs& ovs, int /*pods*/) {
  return std::make_unique<VhostUserFolders>(ovs);
}

}  // namespace kuryr::binding
