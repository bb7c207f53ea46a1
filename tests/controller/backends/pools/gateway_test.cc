#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "binding/netlink/route_socket.h"
#include "binding/plan/l3.h"
#include "tests/controller/backends/pools/backend_fixture.h"
#include "tests/support/netns_fixture.h"

// Gateways of pools, tried with a node's kernel.

namespace kuryr::controller::pools {
namespace {

using binding::RouteSocket;

class GatewayTest : public test::NetnsTest {
 protected:
  /// The host's end, "tap0", is the gateway, and 192.0.2.1 and 2001:db8::1 are behind it.
  void SetUp() override {
    NetnsTest::SetUp();
    pod_ = MakePodNetns();
    RouteSocket().CreateVeth(
        {.name = "tap0", .peer_name = "eth0", .peer_netns_fd = pod_->fd(), .mtu = 1400});
    RunOnHost({"ip", "link", "set", "tap0", "up", "addrgenmode", "none"});
    RouteSocket inside = RouteSocket::OpenIn(*pod_);
    inside.SetUp(inside.FindLink("eth0").value());
    for (const char* address : {"192.0.2.1/32", "2001:db8::1/128"})
      RunOnHost({"ip", "address", "add", address, "dev", "lo", "nodad"});
  }
  void SetGateway(const char* address) {
    RunOnHost({"ip", "address", "add", address, "dev", "tap0", "nodad"});
  }
  /// Configures eth0 by the VIF that a pool with these options gives to a pod.
  void Configure(const std::string& options) {
    PoolBackend backend(
        ReadPoolsOf("[pool:blue]\ndefault = true\n" + options), 1, [] { return TimePoint(); },
        [](const Owner&) {});
    const std::vector<vif::PodVif> vifs = backend.Reserve(RequestOf(Pod("a"))).value();
    const vif::PodVif read = vif::DecodeAnnotation(vif::EncodeAnnotation(vifs)).at(0);
    binding::ConfigureL3(*pod_, "eth0", binding::PlanL3(vif::Common(read.vif), true),
                         binding::L3Scope::kPod);
    // Routes for the way back.
    for (const std::string& address : AddressesOf(read))
      RunOnHost({"ip", "route", "replace", address, "dev", "tap0"});
  }
  void ExpectReached(const char* address) {
    RunIn(*pod_, {"ping", "-c", "1", "-W", "10", address});
  }

  std::optional<binding::Netns> pod_;
};

TEST_F(GatewayTest, LinkLocalOnesAreReachedFromOneAddressAlone) {
  SetGateway("169.254.1.1/32");
  SetGateway("fe80::1/64");

  Configure("cidr = 10.1.0.7/32, fd00::7/128\ngateway = 169.254.1.1, fe80::1\n");

  ExpectReached("192.0.2.1");
  ExpectReached("2001:db8::1");
}

TEST_F(GatewayTest, LinkLocalOnesAreReachedFromAWiderNetwork) {
  SetGateway("169.254.1.1/32");
  SetGateway("fe80::1/64");

  Configure("cidr = 10.1.0.0/24, fd00::/64\ngateway = 169.254.1.1, fe80::1\n");

  ExpectReached("192.0.2.1");
  ExpectReached("2001:db8::1");
}

TEST_F(GatewayTest, TheOtherOfTwoAddressesIsReached) {
  SetGateway("10.1.0.1/31");
  SetGateway("fd00::1/127");

  Configure("cidr = 10.1.0.0/31, fd00::/127\n");

  ExpectReached("192.0.2.1");
  ExpectReached("2001:db8::1");
}

}  // namespace
}  // namespace kuryr::controller::pools
