#include "controller/cluster/ipam_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "controller/backends/pools/pool_factory.h"
#include "controller/cluster/network_attachments.h"
#include "controller/leading.h"
#include "controller/plan/network_selection.h"
#include "tests/controller/backends/pools/pools_text.h"
#include "tests/controller/cluster.h"

// Addresses that follow an IPAMClaim, as a controller that leads gives them.

namespace kuryr::test {
namespace {

using controller::Leading;
using controller::Reporter;
using controller::SinkKind;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kClaims = "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims/";
/// Two addresses for eth0, and networks that pods name.
constexpr const char* kPools =
    "[pool:pods]\ncidr = 10.9.0.0/29\nranges = 10.9.0.2-10.9.0.3\nnamespaces = *\nrest = 0\n"
    "[pool:storage]\ncidr = 10.20.0.0/24\nbridge = br-storage\nnamespaces = default\n"
    "pods = network=storage\n"
    "[pool:secret]\ncidr = 10.30.0.0/24\nbridge = br-secret\nnamespaces = vault\n"
    "pods = network=secret\n";

fake::Resource NetworkResource(const char* version, const char* plural, const char* kind) {
  return {.group = "k8s.cni.cncf.io",
          .version = version,
          .plural = plural,
          .kind = kind,
          .has_status = true,
          .custom = true};
}

fake::Options WithClaims() {
  fake::Options options;
  options.custom_resources.push_back(NetworkResource("v1alpha1", "ipamclaims", "IPAMClaim"));
  options.custom_resources.push_back(
      NetworkResource("v1", "network-attachment-definitions", "NetworkAttachmentDefinition"));
  return options;
}

class IpamClaimsTest : public ::testing::Test {
 protected:
  explicit IpamClaimsTest(const fake::Options& options = WithClaims()) : cluster_(options) {}

  void SetUp() override {
    api().Create({{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", {{"name", "node1"}}}});
    config_.backend =
        std::make_shared<controller::pools::PoolFactory>(controller::pools::ReadPoolsOf(kPools));
    config_.api.api = cluster_.ApiConfig();
  }

  fake::FakeApiServer& api() { return cluster_.api(); }
  void Start(SinkKind sink = SinkKind::kPodState) {
    if (!informer_) informer_ = std::make_unique<controller::Informer>(config_);
    leading_ = std::make_unique<Leading>(Leading::Parts{config_, reporter_, metrics_, *informer_},
                                         sink, [] { return true; });
  }
  void Stop() { leading_.reset(); }
  json CreateClaim(const std::string& name, const json& status = nullptr,
                   const std::string& name_space = "default") {
    json claim = {{"kind", "IPAMClaim"},
                  {"apiVersion", "k8s.cni.cncf.io/v1alpha1"},
                  {"metadata", {{"name", name}, {"namespace", name_space}}},
                  {"spec", {{"network", "pods"}, {"interface", "eth0"}}}};
    if (!status.is_null()) claim["status"] = status;
    return api().Create(claim);
  }
  json StatusOf(const std::string& claim) {
    return api().Get("ipamclaims", "default", claim)->value("status", json());
  }
  json CreatePodWith(const std::string& name, const std::string& claim) {
    return cluster_.CreatePod(name, {}, {{"annotations", {{controller::kClaimAnnotation, claim}}}});
  }
  std::string AddressOfNew(const std::string& name, const std::string& claim) {
    CreatePodWith(name, claim);
    return AddressOn(cluster_.WaitForPlan(name));
  }
  void Complete(const std::string& name) {
    api().Patch("pods", "default", name, {{"status", {{"phase", "Succeeded"}}}});
    (void)cluster_.WaitForRelease(name);
  }
  /// The first of these requests, by order; the count of all where there is none.
  size_t FirstPatch(const std::string& path) {
    const auto requests = api().Requests();
    return static_cast<size_t>(std::find_if(requests.begin(), requests.end(),
                                            [&](const auto& request) {
                                              return request.method == "PATCH" &&
                                                     request.path.starts_with(path);
                                            }) -
                               requests.begin());
  }

  Cluster cluster_;
  controller::Config config_;
  Reporter reporter_{true};
  controller::RoundMetrics metrics_;
  std::unique_ptr<controller::Informer> informer_;
  std::unique_ptr<Leading> leading_;
};

TEST_F(IpamClaimsTest, WhatThePodGetsIsWrittenIntoTheClaimBeforeThePlan) {
  CreateClaim("vm");
  Start();

  const std::string address = AddressOfNew("a", "vm");

  EXPECT_EQ(StatusOf("vm"), json({{"ips", {address + "/29"}}, {"ownerPod", "a"}}));
  EXPECT_LT(FirstPatch(std::string(kClaims) + "vm/status"),
            FirstPatch("/api/v1/namespaces/default/pods/a"));
}

TEST_F(IpamClaimsTest, NextPodGetsTheAddressThatNobodyElseGotMeanwhile) {
  CreateClaim("vm");
  Start();
  const std::string address = AddressOfNew("a", "vm");
  Complete("a");
  cluster_.CreatePod("b");
  EXPECT_NE(AddressOn(cluster_.WaitForPlan("b")), address);
  cluster_.CreatePod("c");
  EXPECT_THAT(cluster_.WaitForEvent("c", "KuryrNoFreeAddress"), HasSubstr("pods"));

  EXPECT_EQ(AddressOfNew("d", "vm"), address);
  EXPECT_EQ(StatusOf("vm").at("ownerPod"), "d");
}

TEST_F(IpamClaimsTest, NextLeaderKeepsWhatClaimsHave) {
  CreateClaim("vm");
  Start();
  const std::string address = AddressOfNew("a", "vm");
  Complete("a");
  Stop();

  Start();
  cluster_.CreatePod("b");
  EXPECT_NE(AddressOn(cluster_.WaitForPlan("b")), address);
  cluster_.CreatePod("c");

  EXPECT_THAT(cluster_.WaitForEvent("c", "KuryrNoFreeAddress"), HasSubstr("pods"));
  EXPECT_EQ(AddressOfNew("d", "vm"), address);
}

TEST_F(IpamClaimsTest, NextLeaderFindsNoConflictBetweenAPodAndItsClaim) {
  CreateClaim("vm");
  Start();
  const std::string address = AddressOfNew("a", "vm");
  Stop();

  Start();
  Complete("a");

  EXPECT_EQ(AddressOfNew("b", "vm"), address);
  EXPECT_TRUE(cluster_.EventsOf("a").empty());
}

TEST_F(IpamClaimsTest, LeaderThatDiesBetweenClaimAndPlanGivesNothingTwice) {
  CreateClaim("vm");
  fake::Fault broken = fake::Fault::Status(500, "broken");
  broken.verb = "patch";
  broken.path_prefix = "/api/v1/namespaces/default/pods/a";
  broken.count = -1;
  api().Inject(broken);
  Start();
  CreatePodWith("a", "vm");
  ASSERT_TRUE(api().WaitForRequest("patch", broken.path_prefix));
  const std::string ip = StatusOf("vm").at("ips").at(0);
  Stop();
  api().ClearFaults();

  Start();

  EXPECT_EQ(AddressOn(cluster_.WaitForPlan("a")) + "/29", ip);
}

TEST_F(IpamClaimsTest, ClaimThatIsGoneGivesItsAddressBack) {
  CreateClaim("vm");
  Start();
  const std::string address = AddressOfNew("a", "vm");
  Complete("a");
  cluster_.CreatePod("b");
  (void)cluster_.WaitForPlan("b");

  api().Delete("ipamclaims", "default", "vm");
  cluster_.CreatePod("c");

  EXPECT_EQ(AddressOn(cluster_.WaitForPlan("c")), address);
}

TEST_F(IpamClaimsTest, ClaimThatComesLaterIsWaitedFor) {
  Start();
  CreatePodWith("a", "vm");
  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrNetworkNotFound"),
              HasSubstr("IPAMClaim default/vm"));

  CreateClaim("vm");

  const std::string address = AddressOn(cluster_.WaitForPlan("a"));
  EXPECT_EQ(StatusOf("vm").at("ips"), json({address + "/29"}));
}

TEST_F(IpamClaimsTest, OneOfTwoPodsHasTheClaimsAddressAndTheOtherGetsItNext) {
  CreateClaim("vm");
  CreatePodWith("a", "vm");
  CreatePodWith("b", "vm");
  Start();
  const std::string pods = "/api/v1/namespaces/default/pods/";
  ASSERT_TRUE(api().WaitForRequest("patch", pods));
  const bool is_a = FirstPatch(pods + "a") < FirstPatch(pods + "b");
  const std::string holder = is_a ? "a" : "b";
  const std::string waiter = is_a ? "b" : "a";
  const std::string address = AddressOn(cluster_.WaitForPlan(holder));
  EXPECT_THAT(cluster_.WaitForEvent(waiter, "KuryrNoFreeAddress"),
              HasSubstr("taken by default/" + holder));

  Complete(holder);

  EXPECT_EQ(AddressOn(cluster_.WaitForPlan(waiter)), address);
}

TEST_F(IpamClaimsTest, ConflictOfTheClaimIsTriedAgain) {
  CreateClaim("vm");
  fake::Fault conflict = fake::Fault::Status(409, "the object has been modified");
  conflict.verb = "patch";
  conflict.path_prefix = kClaims;
  api().Inject(conflict);
  Start();

  const std::string address = AddressOfNew("a", "vm");

  EXPECT_EQ(StatusOf("vm").at("ips"), json({address + "/29"}));
}

TEST_F(IpamClaimsTest, ClaimThatSomebodyElseHasFilledMeanwhileIsObeyed) {
  CreateClaim("vm");
  fake::Fault conflict = fake::Fault::Status(409, "the object has been modified");
  conflict.verb = "patch";
  conflict.path_prefix = kClaims;
  conflict.count = -1;
  api().Inject(conflict);
  Start();
  CreatePodWith("a", "vm");
  // What the pod has reserved by now is one of them; one request may be under way.
  size_t requests = 1;
  for (const char* ip : {"10.9.0.2/29", "10.9.0.3/29"}) {
    ASSERT_TRUE(api().WaitForRequest("patch", kClaims, requests));
    api().Patch("ipamclaims", "default", "vm",
                {{"status", {{"ips", {ip}}, {"ownerPod", "former"}}}});
    requests += 2;
  }
  api().ClearFaults();

  EXPECT_EQ(AddressOn(cluster_.WaitForPlan("a")), "10.9.0.3");
  EXPECT_EQ(StatusOf("vm").at("ownerPod"), "a");
}

TEST_F(IpamClaimsTest, AdditionalNetworkHasAClaimOfItsOwn) {
  CreateClaim("vm.storage");
  api().Create({{"kind", "NetworkAttachmentDefinition"},
                {"apiVersion", "k8s.cni.cncf.io/v1"},
                {"metadata",
                 {{"name", "store"},
                  {"annotations",
                   {{controller::kKuryrConfigAnnotation, json({{"pool", "storage"}}).dump()}}}}}});
  Start();
  const auto create = [&](const std::string& name) {
    cluster_.CreatePod(
        name, {},
        {{"annotations",
          {{controller::kNetworksAnnotation,
            R"([{"name":"store","interface":"pod16367","ipam-claim-reference":"vm.storage"}])"}}}});
    const auto vifs = VifsOn(cluster_.WaitForPlan(name));
    const vif::VifBase& vif = vif::Common(vifs.at(1).vif);
    return vif::FixedIpsOf(vif, vif.network->subnets.value()[0]).at(0).ToString();
  };

  const std::string ip = create("a");
  EXPECT_EQ(StatusOf("vm.storage").at("ips"), json({ip}));
  Complete("a");

  EXPECT_EQ(create("b"), ip);
}

TEST_F(IpamClaimsTest, EachPodOfAStatefulSetHasAClaimByItsName) {
  CreateClaim("db-0.pods");
  CreateClaim("db-1.pods");
  Start();

  const std::string zero = AddressOfNew("db-0", "$(POD_NAME).pods");
  const std::string one = AddressOfNew("db-1", "$(POD_NAME).pods");

  EXPECT_EQ(StatusOf("db-0.pods").at("ips"), json({zero + "/29"}));
  EXPECT_EQ(StatusOf("db-1.pods").at("ips"), json({one + "/29"}));
}

TEST_F(IpamClaimsTest, KuryrPortHasTheClaimsAddress) {
  CreateClaim("vm", {{"ips", {"10.9.0.3/29"}}, {"ownerPod", "former"}});
  Start(SinkKind::kKuryrPort);
  CreatePodWith("a", "vm");

  const json port = cluster_.WaitFor("KuryrPort", "a", [](const json& object) {
    return object.is_object() && !VifsOn(object).empty();
  });

  EXPECT_EQ(AddressOn(port), "10.9.0.3");
}

// What a user may have written into a status.

TEST_F(IpamClaimsTest, AddressOfAPoolThatTheNamespaceMayNotUseIsRefused) {
  CreateClaim("forged", {{"ips", {"10.30.0.5/24"}}, {"ownerPod", "x"}});
  Start();
  CreatePodWith("a", "forged");

  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrPlanRefused"), HasSubstr("10.30.0.5"));
}

TEST_F(IpamClaimsTest, AddressOfAnotherNamespacesPodIsRefusedAndStaysItsOwn) {
  cluster_.CreatePod("theirs", {}, {{"namespace", "vault"}});
  Start();
  const json theirs = cluster_.WaitForPlan("theirs");
  CreateClaim("forged", {{"ips", {AddressOn(theirs) + "/29"}}, {"ownerPod", "x"}});
  Stop();

  Start();
  CreatePodWith("a", "forged");

  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrNoFreeAddress"), HasSubstr("taken by another pod"));
  EXPECT_EQ(api().Get("pods", "vault", "theirs")->at("metadata").at("resourceVersion"),
            theirs.at("metadata").at("resourceVersion"));
  EXPECT_TRUE(cluster_.EventsOf("theirs").empty());
}

TEST_F(IpamClaimsTest, ClaimOfAnotherNamespaceCannotBeNamed) {
  CreateClaim("vm", {{"ips", {"10.9.0.2/29"}}, {"ownerPod", "x"}}, "vault");
  Start();
  CreatePodWith("a", "vm");
  CreatePodWith("b", "vault/vm");

  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrNetworkNotFound"), HasSubstr("default/vm"));
  EXPECT_THAT(cluster_.WaitForEvent("b", "KuryrPlanRefused"), HasSubstr("vault/vm"));
}

TEST_F(IpamClaimsTest, StatusThatIsNoneIsAnEventUntilItIsRepaired) {
  CreateClaim("vm", {{"ips", {"10.9.0.300"}}, {"ownerPod", 7}});
  Start();
  CreatePodWith("a", "vm");
  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrPlanRefused"), HasSubstr("status.ips"));

  api().Patch("ipamclaims", "default", "vm", {{"status", {{"ips", {"10.9.0.3/29"}}}}});

  EXPECT_EQ(AddressOn(cluster_.WaitForPlan("a")), "10.9.0.3");
}

TEST_F(IpamClaimsTest, ClaimsThatMayNotBeReadKeepNoOtherPodFromItsPlan) {
  config_.api.api.refusal_grace = std::chrono::seconds(0);
  fake::Fault forbidden = fake::Fault::Status(403, "the role is an older release's");
  forbidden.path_prefix = "/apis/k8s.cni.cncf.io/";
  forbidden.count = -1;
  api().Inject(forbidden);
  CreateClaim("vm");
  CreatePodWith("b", "vm");
  cluster_.CreatePod("a");
  Start();
  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("a")));
  EXPECT_THAT(cluster_.WaitForEvent("b", "KuryrNetworkNotFound"), HasSubstr("default/vm"));

  api().ClearFaults();

  const std::string address = AddressOn(cluster_.WaitForPlan("b"));
  EXPECT_EQ(StatusOf("vm").at("ips").at(0), address + "/29");
}

class NoIpamClaimsTest : public IpamClaimsTest {
 protected:
  NoIpamClaimsTest() : IpamClaimsTest(fake::Options()) {}
};

TEST_F(NoIpamClaimsTest, ClusterWithoutTheirDefinitionPlansPodsAndTellsWhoNamesOne) {
  Start();
  cluster_.CreatePod("a");
  CreatePodWith("b", "vm");

  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("a")));
  EXPECT_THAT(cluster_.WaitForEvent("b", "KuryrNetworkNotFound"),
              HasSubstr("IPAMClaim default/vm"));
}

}  // namespace
}  // namespace kuryr::test
