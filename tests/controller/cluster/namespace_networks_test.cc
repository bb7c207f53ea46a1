#include <gmock/gmock.h>

#include "controller/cluster/namespaces.h"
#include "controller/plan/security_groups.h"
#include "tests/controller/leading_fixture.h"
#include "tests/controller/neutron_cloud.h"

// A controller whose pods' networks are their namespaces'.

namespace kuryr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kDatabase = "9ebc225a-aa2a-44fa-9a71-0a1e1e0c9adf";

class NamespaceNetworksTest : public LeadingTest {
 protected:
  void SetUp() override {
    Pools("[controller]\nbackend = neutron\n[neutron]\nauth_type = none\nendpoint_override = " +
          cloud_.url() +
          "\n[kubernetes]\npod_subnets_driver = namespace\n[namespace_subnet]\n"
          "pod_subnet_pool = 3f2a6dd0-9a4f-4c35-8d0e-5a8f6f4f2c11\n"
          "pod_router = ca04b385-c154-47f2-97fa-71c3bac760e7\n"
          "[neutron_defaults]\nresource_tags = cluster-a\nadditional_security_groups = " +
          kDatabase + "\n");
    LeadingTest::SetUp();
    for (const char* name : {"kube-system", "default"}) CreateNamespace(name);
  }

  json CreateNamespace(const std::string& name, const json& annotations = json::object()) {
    return api().Create({{"kind", "Namespace"},
                         {"apiVersion", "v1"},
                         {"metadata", {{"name", name}, {"annotations", annotations}}}});
  }
  NeutronCloud::Objects PodsPorts() {
    NeutronCloud::Objects ports = cloud_.All("ports");
    std::erase_if(ports,
                  [](const json& port) { return port.at("device_owner") != "compute:kuryr"; });
    return ports;
  }

  NeutronCloud cloud_;
};

TEST_F(NamespaceNetworksTest, NetworkComesWithTheFirstPodAndGoesWithTheNamespace) {
  Start();
  cluster_.CreatePod("a");

  const json pod = cluster_.WaitForPlan("a");

  EXPECT_THAT(AddressOn(pod), ::testing::StartsWith("10.20."));
  const auto networks = cloud_.All("networks");
  ASSERT_THAT(networks, SizeIs(1));
  EXPECT_EQ(networks[0].at("name"), "ns/default-net");
  EXPECT_THAT(networks[0].at("description").get<std::string>(),
              HasSubstr("kuryr-controller of cluster-a: namespace "));
  api().Delete("pods", "default", "a");
  api().Delete("namespaces", "", "default");
  EXPECT_TRUE(cloud_.WaitUntil("networks", [](const auto& all) { return all.empty(); }));
  EXPECT_THAT(cloud_.All("ports"), IsEmpty());
}

TEST_F(NamespaceNetworksTest, WhatEndedWhileNobodyLedGoesWhenSomebodyDoes) {
  Start();
  cluster_.CreatePod("a");
  (void)cluster_.WaitForPlan("a");
  api().Delete("pods", "default", "a");
  ASSERT_TRUE(cloud_.WaitUntil("ports", [](const auto& all) { return all.size() == 1; }));
  Stop();
  api().Delete("namespaces", "", "default");

  Start();

  EXPECT_TRUE(cloud_.WaitUntil("networks", [](const auto& all) { return all.empty(); }));
}

TEST_F(NamespaceNetworksTest, AnnotationsOfNamespaceAndPodChooseTheGroups) {
  api().Patch(
      "namespaces", "", "default",
      {{"metadata", {{"annotations", {{controller::kSecurityGroupsAnnotation, kDatabase}}}}}});
  Start();
  cluster_.CreatePod("a");
  cluster_.CreatePod(
      "b", {},
      {{"annotations",
        {{controller::kSecurityGroupsAnnotation, "c898c6f0-2f35-4615-a747-201c4d8ebc2d"}}}});
  (void)cluster_.WaitForPlan("a");

  ASSERT_THAT(PodsPorts(), SizeIs(1));
  EXPECT_EQ(PodsPorts()[0].at("security_groups"), json::array({kDatabase}));
  EXPECT_THAT(cluster_.WaitForEvent("b", "KuryrPlanRefused"),
              HasSubstr("the annotation of its namespace does not name it"));
}

}  // namespace
}  // namespace kuryr::test
