#pragma once

#include <string>
#include <vector>

#include "binding/drivers/drivers.h"
#include "binding/node/local_bridge.h"
#include "tests/binding/driver_fixture.h"
#include "tests/binding/node/nat.h"
#include "tests/support/subprocess.h"

namespace kuryr::binding {

/// The node's bridge is "cni0", the gateway that BridgeVif(n) has. Its "uplink" leads to another
/// machine, "outside", with 192.0.2.9, 198.51.100.9, fd09::9 and fd0a::9, which knows the way back
/// to the pods.
class LocalBridgeTest : public DriverTest<NewBridgeDriver> {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    outside_.emplace(MakePodNetns());
    RouteSocket().CreateVeth(
        {.name = "uplink", .peer_name = "eth0", .peer_netns_fd = outside_->fd()});
    RunOnHost({"ip", "address", "add", "192.0.2.1/24", "dev", "uplink"});
    RunOnHost({"ip", "address", "add", "fd09::1/64", "dev", "uplink", "nodad"});
    RunOnHost({"ip", "link", "set", "uplink", "up"});
    for (const char* address : {"192.0.2.9/24", "198.51.100.9/32"})
      RunIn(*outside_, {"ip", "address", "add", address, "dev", "eth0"});
    for (const char* address : {"fd09::9/64", "fd0a::9/128"})
      RunIn(*outside_, {"ip", "address", "add", address, "dev", "eth0", "nodad"});
    RunIn(*outside_, {"ip", "link", "set", "eth0", "up"});
  }
  static IpNetwork Net(const std::string& text) { return IpNetwork::Parse(text).value(); }
  static LocalBridge Cni0() {
    return {.name = "cni0", .gateways = {Net("10.1.0.254/24"), Net("fd00::ff/64")}};
  }
  /// The bridge, as the kernel has it then.
  static Link Make(const LocalBridge& wanted) {
    MakeLocalBridge(wanted);
    GiveGateways(wanted);
    return RouteSocket().FindLink(wanted.name).value();
  }
  static std::vector<std::string> AddressesOf(const std::string& link) {
    std::vector<std::string> found;
    RouteSocket host;
    for (const IpNetwork& address : host.AddressesOf(host.FindLink(link).value())) {
      if (!Net("fe80::/10").Contains(address.address)) found.push_back(address.ToString());
    }
    return found;
  }
  static nlohmann::json LinkShown(const std::string& link) {
    return ParseJson(RunOnHost({"ip", "-d", "-j", "link", "show", link})).at(0);
  }
  /// On "cni0".
  Pod MakeConnectedPod(int n) {
    Pod pod = MakePod(n);
    vif::VifBridge vif = test::BridgeVif(n);
    vif.bridge_name = std::string("cni0");
    Connect(vif, pod);
    return pod;
  }

  std::optional<Netns> outside_;
};

}  // namespace kuryr::binding
