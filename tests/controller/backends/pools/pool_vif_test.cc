#include "controller/backends/pools/pool_vif.h"

#include "base/names.h"
#include "binding/driver_context.h"
#include "binding/drivers/drivers.h"
#include "binding/parts/driver.h"
#include "binding/plan/l3.h"
#include "tests/controller/backends/pools/backend_fixture.h"

namespace kuryr::controller::pools {
namespace {

using testing::ElementsAre;

constexpr const char* kNetwork =
    "cidr = 10.1.0.0/24, fd00::/64\nranges = 10.1.0.9, fd00::9\ndns = 10.1.0.2, fd00::2\n"
    "routes = 10.9.0.0/16 via 10.1.0.3, 10.8.0.0/16, fd00:9::/64 via fd00::3\nmtu = 1400\n"
    "default = true\n";

class PoolVifTest : public PoolBackendTest {
 protected:
  vif::PodVif Planned(const std::string& options) {
    Start("[pool:blue]\n" + std::string(kNetwork) + options);
    return Reserve(Pod("a")).at(0);
  }
};

void ExpectReadable(const vif::PodVif& planned) {
  const std::string text = vif::EncodeAnnotation({planned});
  EXPECT_EQ(vif::EncodeAnnotation(vif::DecodeAnnotation(text)), text);
}

TEST_F(PoolVifTest, OfOpenVSwitchIsWhatItsDriverWants) {
  const vif::PodVif planned = Planned("bridge = br-blue\n");

  const auto& vif = std::get<vif::VifOpenVSwitch>(planned.vif);
  EXPECT_EQ(*vif.plugin, "ovs");
  EXPECT_EQ(*std::get<vif::PortProfileOpenVSwitch>(*vif.port_profile).interface_id, *vif.id);
  binding::Shared shared;
  const binding::Plug plug = binding::NewOvsDriver({{}, shared})->Plan(planned).plug;
  EXPECT_EQ(plug.bridge, "br-blue");
  EXPECT_EQ(plug.host_interface, "tap" + vif.id->substr(0, 11));
  ExpectReadable(planned);
}

TEST_F(PoolVifTest, OfABridgeIsWhatItsDriverWants) {
  const vif::PodVif planned = Planned("vif = bridge\nbridge = br-blue\n");

  EXPECT_FALSE(*vif::Common(planned.vif).network->should_provide_bridge);
  binding::Shared shared;
  EXPECT_EQ(binding::NewBridgeDriver({{}, shared})->Plan(planned).plug.bridge, "br-blue");
  ExpectReadable(planned);
}

TEST_F(PoolVifTest, OfABridgeWithAVlanLetsTheNodeMakeBoth) {
  const vif::PodVif planned =
      Planned("vif = bridge\nbridge = br-blue\nvlan = 7\nbridge_interface = bond0\n");

  const vif::Network& network = *vif::Common(planned.vif).network;
  EXPECT_TRUE(*network.should_provide_bridge && *network.should_provide_vlan);
  EXPECT_EQ(*network.vlan, 7);
  EXPECT_EQ(*network.bridge_interface, "bond0");
  binding::Shared shared;
  EXPECT_EQ(binding::NewBridgeDriver({{}, shared})->Plan(planned).plug.bridge, "br-blue");
  ExpectReadable(planned);
}

TEST_F(PoolVifTest, OfNestedPodsIsWhatTheirDriverWants) {
  const vif::PodVif macvlan = Planned("vif = macvlan\n");
  const vif::PodVif vlan = Planned("vif = vlan\nvlan_ids = 100-110\n");
  binding::Shared shared;

  for (const vif::PodVif& planned : {macvlan, vlan}) {
    EXPECT_EQ(binding::NewNestedDriver({{}, shared})->Plan(planned).plug.ifname, "eth0");
    EXPECT_EQ(*vif::Common(planned.vif).plugin, "noop");
    ExpectReadable(planned);
  }
}

TEST_F(PoolVifTest, SaysWhatThePodsLayerThreeIs) {
  const vif::PodVif planned = Planned("");

  const binding::L3Plan plan = binding::PlanL3(vif::Common(planned.vif), true);

  ASSERT_EQ(plan.addresses.size(), 2U);
  EXPECT_EQ(plan.addresses[0].network, Net("10.1.0.9/24"));
  EXPECT_EQ(plan.addresses[0].gateway, Ip("10.1.0.1"));
  EXPECT_EQ(plan.addresses[1].network, Net("fd00::9/64"));
  EXPECT_EQ(plan.addresses[1].gateway, Ip("fd00::1"));
  std::vector<std::string> routes;
  for (const auto& route : plan.routes) {
    EXPECT_FALSE(route.gateway_on_link);
    routes.push_back(route.destination.ToString() + " " +
                     (route.gateway ? route.gateway->ToString() : "link"));
  }
  EXPECT_THAT(routes, ElementsAre("10.9.0.0/16 10.1.0.3", "10.8.0.0/16 link", "0.0.0.0/0 10.1.0.1",
                                  "fd00:9::/64 fd00::3", "::/0 fd00::1"));
}

TEST_F(PoolVifTest, SaysWhatElseThePoolSays) {
  const vif::PodVif planned = Planned("");

  const vif::VifBase& vif = vif::Common(planned.vif);
  EXPECT_TRUE(*vif.active);
  EXPECT_EQ(vif::MtuOf(vif), 1400U);
  EXPECT_EQ(*vif.network->label, "blue");
  EXPECT_EQ(*vif.network->id, NetworkIdOf("blue"));
  EXPECT_NE(NetworkIdOf("blue"), NetworkIdOf("pink"));
  const vif::SubnetList& subnets = *vif.network->subnets;
  EXPECT_THAT(*subnets[0].dns, ElementsAre(Ip("10.1.0.2")));
  EXPECT_THAT(*subnets[1].dns, ElementsAre(Ip("fd00::2")));
}

TEST_F(PoolVifTest, WithoutGatewayThereIsNoDefaultRoute) {
  Start("[pool:blue]\ncidr = 10.1.0.0/24\ngateway = none\ndefault = true\n");

  const vif::PodVif planned = Reserve(Pod("a")).at(0);

  EXPECT_TRUE(binding::PlanL3(vif::Common(planned.vif), true).routes.empty());
  ExpectReadable(planned);
}

TEST_F(PoolVifTest, IdsAreUuidsOfOwnerAndInterface) {
  const std::string id = VifIdOf("uid-a", "eth0");

  EXPECT_TRUE(IsUuid(id)) << id;
  EXPECT_EQ(id[14], '8');
  EXPECT_EQ(id[19], 'a');
  EXPECT_EQ(VifIdOf("uid-a", "eth0"), id);
  EXPECT_NE(VifIdOf("uid-b", "eth0"), id);
  EXPECT_NE(VifIdOf("uid-a", "eth1"), id);
}

}  // namespace
}  // namespace kuryr::controller::pools
