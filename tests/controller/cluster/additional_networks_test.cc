#include <gmock/gmock.h>

#include "controller/cluster/network_attachments.h"
#include "controller/plan/network_selection.h"
#include "tests/controller/leading_fixture.h"

// A pod's annotation asks for interfaces beside its default one.

namespace kuryr::test {
namespace {

using ::testing::HasSubstr;

/// A controller whose API server knows NetworkAttachmentDefinitions.
class AdditionalNetworksTest : public LeadingTest {
 protected:
  AdditionalNetworksTest() : LeadingTest(WithDefinitions()) {
    Pools(
        "[pool:pods]\ncidr = 10.8.0.0/16\nnamespaces = *\nrest = 0\n"
        "[pool:storage]\ncidr = 10.20.0.0/24\nbridge = br-storage\nnamespaces = default\n"
        "[pool:secret]\ncidr = 10.30.0.0/24\nbridge = br-secret\nnamespaces = vault\n");
  }

  static fake::Options WithDefinitions() {
    fake::Options options;
    options.custom_resources.push_back({.group = "k8s.cni.cncf.io",
                                        .version = "v1",
                                        .plural = "network-attachment-definitions",
                                        .kind = "NetworkAttachmentDefinition",
                                        .custom = true});
    return options;
  }
  void Define(const std::string& name, const std::string& pool) {
    api().Create({{"kind", "NetworkAttachmentDefinition"},
                  {"apiVersion", "k8s.cni.cncf.io/v1"},
                  {"metadata",
                   {{"name", name},
                    {"annotations",
                     {{controller::kKuryrConfigAnnotation, json({{"pool", pool}}).dump()}}}}}});
  }
  void CreatePodWith(const std::string& networks) {
    cluster_.CreatePod("a", {}, {{"annotations", {{controller::kNetworksAnnotation, networks}}}});
  }
};

TEST_F(AdditionalNetworksTest, EachIsAnInterfaceOfItsPool) {
  Define("store", "storage");
  Start();
  CreatePodWith("store@san0");

  const auto vifs = VifsOn(cluster_.WaitForPlan("a"));

  ASSERT_EQ(vifs.size(), 2U);
  EXPECT_EQ(vifs[0].ifname, "eth0");
  EXPECT_EQ(vifs[1].ifname, "san0");
  EXPECT_FALSE(vifs[1].is_default);
  EXPECT_EQ(std::get<vif::VifOpenVSwitch>(vifs[1].vif).bridge_name.value(), "br-storage");
}

TEST_F(AdditionalNetworksTest, DefinitionThatComesLaterIsWaitedFor) {
  Start();
  CreatePodWith("store");
  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrNetworkNotFound"), HasSubstr("default/store"));

  Define("store", "storage");

  EXPECT_EQ(VifsOn(cluster_.WaitForPlan("a")).size(), 2U);
}

TEST_F(AdditionalNetworksTest, PoolOfAnotherNamespaceIsRefused) {
  Define("store", "secret");
  Start();
  CreatePodWith("store");

  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrPlanRefused"), HasSubstr("secret"));
  EXPECT_EQ(Writes("/api/v1/namespaces/default/pods/a"), 0U);
}

TEST_F(AdditionalNetworksTest, DefaultRouteMayLeadThroughAnother) {
  Define("store", "storage");
  Start();
  CreatePodWith(R"([{"name": "store", "default-route": ["10.20.0.1"]}])");

  const auto vifs = VifsOn(cluster_.WaitForPlan("a"));

  ASSERT_EQ(vifs.size(), 2U);
  EXPECT_EQ(vifs[0].ifname, "eth0");
  EXPECT_FALSE(vif::Common(vifs[0].vif).network->subnets.value()[0].gateway.has_value());
  EXPECT_EQ(vif::Common(vifs[1].vif).network->subnets.value()[0].routes->size(), 1U);
}

}  // namespace
}  // namespace kuryr::test
