#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/controller/leading_fixture.h"
#include "tests/controller/neutron_cloud.h"

// Ports of Neutron that a former leader left.

namespace kuryr::test {
namespace {

class LeftPortsTest : public LeadingTest {
 protected:
  void SetUp() override {
    Pools("[controller]\nbackend = neutron\n[neutron]\nauth_type = none\nendpoint_override = " +
          cloud_.url() +
          "\n[kubernetes]\npod_subnets_driver = namespace\n[namespace_subnet]\n"
          "pod_subnet_pool = 3f2a6dd0-9a4f-4c35-8d0e-5a8f6f4f2c11\n"
          "pod_router = ca04b385-c154-47f2-97fa-71c3bac760e7\n"
          "[neutron_defaults]\nresource_tags = cluster-a\norphan_interval = 1\n");
    LeadingTest::SetUp();
    for (const char* name : {"kube-system", "default"})
      api().Create({{"kind", "Namespace"}, {"apiVersion", "v1"}, {"metadata", {{"name", name}}}});
  }

  /// A leader that is killed between a pod's finalizer and its port.
  void TakePlanOf(const std::string& pod) {
    api().Patch("pods", "default", pod,
                {{"metadata", {{"finalizers", nullptr}, {"annotations", nullptr}}}});
  }
  [[nodiscard]] bool WaitForPortsOf(const std::set<std::string>& pods) {
    return cloud_.WaitUntil("ports", [&](const auto& ports) {
      std::set<std::string> names;
      for (const json& port : ports) {
        if (port.at("device_owner") == "compute:kuryr") names.insert(port.at("name"));
      }
      std::set<std::string> wanted;
      for (const std::string& pod : pods) wanted.insert("default/" + pod + "/eth0");
      return names == wanted;
    });
  }

  NeutronCloud cloud_;
};

TEST_F(LeftPortsTest, NextLeaderReleasesThoseOfPodsThatAreGoneOrDone) {
  Start();
  for (const char* pod : {"gone", "done", "made-anew", "stays"}) {
    cluster_.CreatePod(pod);
    (void)cluster_.WaitForPlan(pod);
  }
  Stop();
  cloud_.PatchAll("ports", {{"status", "DOWN"}});
  for (const char* pod : {"gone", "done", "made-anew"}) TakePlanOf(pod);
  SetStatus("done", {{"phase", "Succeeded"}});
  for (const char* pod : {"gone", "made-anew"}) api().Delete("pods", "default", pod);
  cluster_.CreatePod("made-anew", {{"hostNetwork", true}});

  Start();

  EXPECT_TRUE(WaitForPortsOf({"stays"}));
}

TEST_F(LeftPortsTest, PodThatOnlyLostItsPlanKeepsItsPort) {
  Start();
  cluster_.CreatePod("gone");
  (void)cluster_.WaitForPlan("gone");
  cluster_.CreatePod("running");
  const json before = cluster_.WaitForPlan("running");
  Stop();
  cloud_.PatchAll("ports", {{"status", "DOWN"}});
  for (const char* pod : {"gone", "running"}) TakePlanOf(pod);
  api().Delete("pods", "default", "gone");

  Start();

  EXPECT_TRUE(WaitForPortsOf({"running"}));
  EXPECT_EQ(AddressOn(cluster_.WaitForPlan("running")), AddressOn(before));
}

}  // namespace
}  // namespace kuryr::test
