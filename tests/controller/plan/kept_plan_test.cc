#include "controller/plan/kept_plan.h"

#include <gtest/gtest.h>

#include "controller/backends/neutron/vifs/port_vif.h"
#include "tests/controller/backends/pools/backend_fixture.h"

namespace kuryr::controller {
namespace {

using pools::PoolBackend;

/// A pool of each kind, by its options.
class KeptPlanTest : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::vector<pools::Pool> Pools() const {
    return pools::ReadPoolsOf("[pool:blue]\ncidr = 10.1.0.0/24, fd00::/64\ndefault = true\n" +
                              std::string(GetParam()));
  }
  [[nodiscard]] static std::vector<vif::PodVif> Planned(PoolBackend& backend,
                                                        const PlanRequest& request) {
    std::vector<vif::PodVif> vifs = backend.Reserve(request).value();
    for (vif::PodVif& vif : vifs) vif::Common(vif.vif).active = true;
    return vifs;
  }
};

TEST_P(KeptPlanTest, NextBackendGivesThePodWhatItHas) {
  PlanRequest request = pools::RequestOf(pools::Pod("a"));
  request.interfaces.push_back({.ifname = "net1", .network = "blue"});
  PoolBackend former(Pools(), 1);
  const auto vifs = Planned(former, request);

  PoolBackend next(Pools(), 2);
  next.Adopt(request.owner, KeptPlan(vifs).vifs());

  EXPECT_EQ(Planned(next, request), vifs);
  for (const vif::PodVif& vif : KeptPlan(vifs).vifs()) {
    EXPECT_TRUE(next.Owns(request.owner, vif));
    EXPECT_FALSE(next.Owns(pools::Pod("b"), vif));
  }
}

TEST_P(KeptPlanTest, VifsThatAreNotActiveAreKeptAsTheyAre) {
  PoolBackend backend(Pools());
  std::vector<vif::PodVif> vifs = Planned(backend, pools::RequestOf(pools::Pod("a")));
  vif::Common(vifs[0].vif).active = false;

  EXPECT_EQ(KeptPlan(vifs).vifs(), vifs);
}

INSTANTIATE_TEST_SUITE_P(Kinds, KeptPlanTest,
                         ::testing::Values("bridge = br-int\n", "vif = bridge\nbridge = br0\n",
                                           "vif = macvlan\n", "vif = vlan\nvlan_ids = 5-9\n"));

TEST(KeptPlanOfNeutronTest, PortIsToldFromAVifThatIsNone) {
  vif::VifOpenVSwitch port;
  port.id = "5f1b4e6c-0000-4000-8000-000000000001";
  port.plugin = "ovs";
  port.active = true;
  vif::PortProfileOpenVSwitch profile;
  profile.interface_id = *port.id;
  port.port_profile = vif::PortProfile(profile);
  ASSERT_TRUE(neutron::IsPortVif(port));

  EXPECT_TRUE(neutron::IsPortVif(KeptPlan({{"eth0", true, port}}).vifs().at(0).vif));
  port.port_profile.reset();
  EXPECT_FALSE(neutron::IsPortVif(KeptPlan({{"eth0", true, port}}).vifs().at(0).vif));
}

TEST(KeptPlanOfNothingTest, IsEmpty) {
  EXPECT_TRUE(KeptPlan().empty());
  EXPECT_TRUE(KeptPlan().vifs().empty());
}

}  // namespace
}  // namespace kuryr::controller
