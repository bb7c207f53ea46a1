#pragma once

#include <gmock/gmock.h>
#include <sys/mount.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "binding/drivers/drivers.h"
#include "tests/binding/driver_fixture.h"
#include "tests/binding/fake_sysfs.h"

namespace kuryr::binding {

constexpr const char* kPfAddress = "0000:03:00.0";

inline std::string VfAddress(int n) { return "0000:03:10." + std::to_string(n); }
inline std::string VfLink(int n) { return "ens1v" + std::to_string(n); }

/// The VIF of VF number `n`.
inline vif::VifSriov SriovVif(int n) {
  auto vif = test::VifOf<vif::VifSriov>(n, "sriov");
  vif.dev_address = *vif::PciAddress::Parse(VfAddress(n));
  vif.vlan_name = std::string();
  return vif;
}

inline vif::VifHostDevice HostDeviceVif(int n) {
  vif::VifHostDevice vif;
  static_cast<vif::VifBase&>(vif) = test::OvsVif(n);
  vif.dev_type = vif::HostDeviceType::kEthernet;
  vif.dev_address = *vif::PciAddress::Parse(VfAddress(n));
  return vif;
}

/// A card in the host of a NetnsTest: a PF "ens1" that sets nothing for its VFs, as with virtio,
/// and VFs 0 to 3. They are veths; the other end of VF `n` is "wire<n>", a port of the bridge
/// "wires".
struct FakeCard {
  FakeCard() {
    RouteSocket host;
    host.CreateBridgeDown("wires", {});
    host.SetUp(host.FindLink("wires").value());
    host.CreateVeth({.name = "ens1", .peer_name = "ens1-wire", .mtu = 9000});
    sysfs.AddPf(kPfAddress, "ens1");
    for (int n = 0; n < 4; ++n) {
      const std::string wire = "wire" + std::to_string(n);
      host.CreateVeth({.name = wire,
                       .peer_name = VfLink(n),
                       .mtu = 1600,
                       .master = host.FindLink("wires").value().index});
      host.SetUp(host.FindLink(wire).value());
      sysfs.AddVf(kPfAddress, n, VfAddress(n), VfLink(n));
    }
  }

  FakeSysfs sysfs{"/run/sys"};
};

/// The other ends of the VFs are their representors, on the switch "a1".
struct FakeSwitchCard : FakeCard {
  FakeSwitchCard() {
    sysfs.SetAttribute("ens1", "phys_switch_id", "a1");
    sysfs.SetAttribute("ens1", "phys_port_name", "p0");
    for (int n = 0; n < 4; ++n) {
      const std::string wire = "wire" + std::to_string(n);
      test::RunProgram({.argv = {"ip", "link", "set", wire, "nomaster", "down"}});
      sysfs.AddPort(kPfAddress, wire, "a1", "pf0vf" + std::to_string(n));
    }
  }
};

class SriovDriverTest : public DriverTest<NewSriovDriver> {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    card_.emplace();
    Configure({.sysfs = card_->sysfs.root()});
  }
  static std::string FailureOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }
  /// Also that a DEL afterwards changes nothing.
  template <typename Error>
  void ExpectRefused(const vif::Vif& vif, const std::string& reason) {
    const Pod pod = MakePod(1);
    const std::string before = StateWith(pod);
    try {
      Connect(vif, pod);
      ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(reason));
    }
    EXPECT_EQ(StateWith(pod), before);
    driver_->Disconnect(
        {.driver = "sriov", .ifname = "eth0", .host_interface = VfLink(1), .device = VfAddress(1)},
        pod.attachment, Soon());
    EXPECT_EQ(StateWith(pod), before) << "after the DEL that follows";
  }
  static void MoveToHost(const Pod& pod, const std::string& name) {
    const Netns host = Netns::Current();
    RouteSocket::OpenIn(pod.netns).ChangeLink(LinkIn(pod).value(),
                                              {.netns_fd = host.fd(), .name = name});
  }
  /// Plays the kernel, which moves hardware to the host when the pod's namespace ends; a veth would
  /// end with it.
  void EndNamespace(const Pod& pod, const std::string& name_on_host) {
    MoveToHost(pod, name_on_host);
    card_->sysfs.SetLinkOf(VfAddress(1), name_on_host);
    ASSERT_EQ(::umount2(pod.attachment.netns.c_str(), MNT_DETACH), 0);
    ASSERT_EQ(std::remove(pod.attachment.netns.c_str()), 0);
  }

  std::optional<FakeCard> card_;
};

}  // namespace kuryr::binding
