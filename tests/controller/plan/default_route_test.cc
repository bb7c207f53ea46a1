#include "controller/plan/default_route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binding/plan/l3.h"

namespace kuryr::controller {
namespace {

using ::testing::IsEmpty;

vif::PodVif VifOf(const std::string& ifname, const std::string& address, const std::string& gateway,
                  bool is_default) {
  vif::Subnet subnet;
  subnet.cidr = IpNetwork::Parse(address + "/24").value();
  subnet.gateway = IpAddress::Parse(gateway).value();
  subnet.ips = vif::FixedIpList{
      .objects = std::vector<vif::FixedIp>{{.address = IpAddress::Parse(address).value()}}};
  vif::VifOpenVSwitch vif;
  vif.network = vif::Network();
  vif.network->subnets = vif::SubnetList{.objects = std::vector<vif::Subnet>{subnet}};
  return {.ifname = ifname, .is_default = is_default, .vif = vif};
}

binding::L3Plan PlanOf(const vif::PodVif& vif) {
  return binding::PlanL3(vif::Common(vif.vif), vif.is_default);
}

TEST(MoveDefaultRouteTest, TheOtherInterfaceGetsIt) {
  std::vector<vif::PodVif> vifs = {VifOf("net1", "10.1.0.5", "10.1.0.1", true),
                                   VifOf("eth0", "10.0.0.5", "10.0.0.1", false)};

  MoveDefaultRoute(vifs);

  ASSERT_EQ(vifs[0].ifname, "eth0");
  EXPECT_TRUE(vifs[0].is_default);
  EXPECT_FALSE(vifs[1].is_default);
  EXPECT_THAT(PlanOf(vifs[0]).routes, IsEmpty());
  const binding::L3Plan other = PlanOf(vifs[1]);
  ASSERT_EQ(other.routes.size(), 1U);
  EXPECT_EQ(other.routes[0].destination, IpNetwork::Default(IpFamily::kIpv4));
  EXPECT_EQ(other.routes[0].gateway->ToString(), "10.1.0.1");
}

TEST(MoveDefaultRouteTest, FamilyThatTheOtherInterfaceLacksStays) {
  std::vector<vif::PodVif> vifs = {VifOf("net1", "10.1.0.5", "10.1.0.1", true),
                                   VifOf("eth0", "fd00::5", "fd00::1", false)};

  MoveDefaultRoute(vifs);

  ASSERT_EQ(vifs[0].ifname, "eth0");
  ASSERT_EQ(PlanOf(vifs[0]).routes.size(), 1U);
  EXPECT_EQ(PlanOf(vifs[0]).routes[0].gateway->ToString(), "fd00::1");
}

TEST(MoveDefaultRouteTest, Eth0KeepsIt) {
  const std::vector<vif::PodVif> vifs = {VifOf("eth0", "10.0.0.5", "10.0.0.1", true),
                                         VifOf("net1", "10.1.0.5", "10.1.0.1", false)};
  std::vector<vif::PodVif> moved = vifs;

  MoveDefaultRoute(moved);

  EXPECT_EQ(moved, vifs);
}

}  // namespace
}  // namespace kuryr::controller
