#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "controller/backends/pools/pool_factory.h"
#include "controller/leading.h"
#include "controller/owners/pod_facts.h"
#include "tests/controller/backends/pools/pools_text.h"
#include "tests/controller/kube_api_fixture.h"
#include "vif/pod_vifs.h"
#include "watcher/api_error.h"

// IPAMClaims at a real API server: their status is a subresource, with a schema.

namespace kuryr::test {
namespace {

using controller::Leading;
using nlohmann::json;

constexpr const char* kClaims = "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims";
/// As the working group's definition has it, without rules of later API servers.
constexpr const char* kDefinition = R"({
  "metadata": {"name": "ipamclaims.k8s.cni.cncf.io",
               "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
  "spec": {
    "group": "k8s.cni.cncf.io", "scope": "Namespaced",
    "names": {"kind": "IPAMClaim", "listKind": "IPAMClaimList", "plural": "ipamclaims",
              "singular": "ipamclaim"},
    "versions": [{
      "name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "required": ["interface", "network"], "properties": {
          "interface": {"type": "string"}, "network": {"type": "string"}}},
        "status": {"type": "object", "required": ["ips", "ownerPod"], "properties": {
          "ips": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
          "ownerPod": {"type": "string"}}}}}}}]}})";

class IpamClaimsApiServerTest : public KubeApiTest {
 protected:
  void SetUp() override {
    KubeApiTest::SetUp();
    if (!server_) return;
    config_.api.api = Config();
    config_.backend =
        std::make_shared<controller::pools::PoolFactory>(controller::pools::ReadPoolsOf(
            "[pool:pods]\ncidr = 10.9.0.0/29, fd00:9::/64\nnamespaces = *\nrest = 0\n"));
    Define(ParseJson(kDefinition));
  }
  void CreateClaim() {
    (void)WaitFor(kClaims, [](const json& list) { return list.contains("items"); });
    api_->Post(kClaims, {{"apiVersion", "k8s.cni.cncf.io/v1alpha1"},
                         {"kind", "IPAMClaim"},
                         {"metadata", {{"name", "vm"}}},
                         {"spec", {{"network", "pods"}, {"interface", "eth0"}}}});
  }
  json AddressesOfNew(const std::string& name) {
    CreatePod(name, {{"annotations", {{controller::kClaimAnnotation, "vm"}}}});
    const json pod = WaitFor(std::string(kPods) + "/" + name,
                             [](const json& object) { return vif::VifsOf(object).has_value(); });
    const auto vifs = vif::VifsOf(pod).value();
    const vif::VifBase& common = vif::Common(vifs.at(0).vif);
    json addresses = json::array();
    for (const vif::Subnet& subnet : common.network->subnets.value())
      addresses.push_back(vif::FixedIpsOf(common, subnet).at(0).ToString());
    return addresses;
  }
  json Claim() { return api_->Get(std::string(kClaims) + "/vm"); }

  controller::Config config_;
  controller::Reporter reporter_{true};
  controller::RoundMetrics metrics_;
};

TEST_F(IpamClaimsApiServerTest, StatusIsWrittenOnceAndRefusedToWhoDoesNotKnowTheNewest) {
  CreateClaim();
  const json before = Claim();
  controller::Informer informer(config_);
  const Leading leading({config_, reporter_, metrics_, informer}, controller::SinkKind::kPodState,
                        [] { return true; });

  const json addresses = AddressesOfNew("a");

  const json after = Claim();
  EXPECT_EQ(after.at("status"), json({{"ips", addresses}, {"ownerPod", "a"}}));
  EXPECT_EQ(addresses.size(), 2U);
  const json stale = {{"metadata",
                       {{"uid", before.at("metadata").at("uid")},
                        {"resourceVersion", before.at("metadata").at("resourceVersion")}}},
                      {"status", {{"ips", json::array()}, {"ownerPod", "b"}}}};
  try {
    api_->Patch(std::string(kClaims) + "/vm/status", watcher::PatchType::kMerge, stale);
    FAIL() << "written";
  } catch (const watcher::ApiError& e) {
    EXPECT_EQ(e.code(), watcher::ApiError::kConflict);
  }
  api_->Patch(std::string(kPods) + "/a/status", watcher::PatchType::kMerge,
              {{"status", {{"phase", "Succeeded"}}}});
  EXPECT_EQ(AddressesOfNew("b"), addresses);
  EXPECT_EQ(Claim().at("status").at("ownerPod"), "b");
}

TEST_F(IpamClaimsApiServerTest, MoreAddressesThanAClaimHoldsAreAnEventThatSaysSo) {
  CreateClaim();
  controller::Informer informer(config_);
  const Leading leading({config_, reporter_, metrics_, informer}, controller::SinkKind::kPodState,
                        [] { return true; });

  CreatePod("a", {{"annotations",
                   {{controller::kClaimAnnotation, "vm"},
                    {controller::kAddressesAnnotation, "10.9.0.2,10.9.0.3,10.9.0.4"}}}});

  const json events = WaitFor("/api/v1/namespaces/default/events",
                              [](const json& list) { return !list.at("items").empty(); });
  EXPECT_EQ(events.at("items").at(0).at("reason"), "KuryrPlanRefused");
  EXPECT_THAT(events.at("items").at(0).at("message"),
              testing::HasSubstr("IPAMClaim vm has no room"));
}

/// What a ClusterRole of a release without claims and additional networks gives.
json OlderRules() {
  return {
      {{"apiGroups", {""}}, {"resources", {"pods"}}, {"verbs", {"get", "list", "watch", "patch"}}},
      {{"apiGroups", {"openstack.org"}},
       {"resources", {"kuryrports"}},
       {"verbs", {"list", "watch"}}},
      {{"apiGroups", {""}}, {"resources", {"events"}}, {"verbs", {"create"}}}};
}

class OlderRoleTest : public IpamClaimsApiServerTest {
 protected:
  void SetUp() override {
    IpamClaimsApiServerTest::SetUp();
    if (!server_) return;
    config_.api.api.token = {.file = server_->nobody_token_file()};
    config_.api.api.refusal_grace = std::chrono::seconds(1);
    api_->Post(kRbac + "roles", {{"metadata", {{"name", "older"}}}, {"rules", OlderRules()}});
    api_->Post(
        kRbac + "rolebindings",
        {{"metadata", {{"name", "older"}}},
         {"roleRef",
          {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "older"}}},
         {"subjects",
          {{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", "nobody"}}}}});
  }
  const std::string kRbac = "/apis/rbac.authorization.k8s.io/v1/cluster";
};

TEST_F(OlderRoleTest, PodsAreAllPlannedOnceTheirRightsHaveCome) {
  CreateClaim();
  controller::Informer informer(config_);
  const Leading leading({config_, reporter_, metrics_, informer}, controller::SinkKind::kPodState,
                        [] { return true; });
  CreatePod("a");
  EXPECT_TRUE(vif::VifsOf(WaitFor(std::string(kPods) + "/a", [](const json& pod) {
                return vif::VifsOf(pod).has_value();
              })).has_value());
  json rules = OlderRules();
  rules.push_back({{"apiGroups", {"k8s.cni.cncf.io"}},
                   {"resources", {"ipamclaims", "network-attachment-definitions"}},
                   {"verbs", {"list", "watch"}}});
  rules.push_back({{"apiGroups", {"k8s.cni.cncf.io"}},
                   {"resources", {"ipamclaims/status"}},
                   {"verbs", {"patch"}}});
  api_->Patch(kRbac + "roles/older", watcher::PatchType::kMerge, {{"rules", rules}});

  const json addresses = AddressesOfNew("b");
  EXPECT_EQ(Claim().at("status").at("ips"), addresses);
}

}  // namespace
}  // namespace kuryr::test
