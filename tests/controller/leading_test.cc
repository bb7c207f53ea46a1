#include "controller/leading.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/controller/leading_fixture.h"

// A controller that leads, and what it writes.

namespace kuryr::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(LeadingTest, PodIsPlannedWithOneRequest) {
  Start();
  cluster_.CreatePod("a");

  const json pod = cluster_.WaitForPlan("a");

  const auto vifs = VifsOn(pod);
  ASSERT_EQ(vifs.size(), 1U);
  EXPECT_EQ(vifs[0].ifname, "eth0");
  EXPECT_TRUE(*vif::Common(vifs[0].vif).active);
  EXPECT_THAT(AddressOn(pod), ::testing::StartsWith("10.8."));
  EXPECT_EQ(Writes("/api/v1/namespaces/default/pods/a"), 1U);
  EXPECT_THAT(cluster_.EventsOf("a"), IsEmpty());
}

TEST_F(LeadingTest, PlanOfAPoolIsActiveAtOnceAndCountedSo) {
  Start();
  cluster_.CreatePod("a");
  (void)cluster_.WaitForPlan("a");
  // The round that planned the pod has ended before another one releases it.
  SetStatus("a", {{"phase", "Succeeded"}});
  (void)cluster_.WaitForRelease("a");
  Stop();

  service::MetricsText text;
  metrics_.WriteTo(text);
  EXPECT_THAT(text.text(), HasSubstr("kuryr_controller_plan_duration_seconds_count 1\n"));
  EXPECT_THAT(text.text(), HasSubstr("kuryr_controller_active_duration_seconds_count 1\n"));
}

TEST_F(LeadingTest, OneVifIsItsOwnAnnotation) {
  Start(SinkKind::kVif);
  cluster_.CreatePod("a");

  const json pod = cluster_.WaitForPlan("a");

  const json annotation = json::parse(
      pod.at("metadata").at("annotations").at("openstack.org/kuryr-vif").get<std::string>());
  EXPECT_EQ(annotation.at("versioned_object.name"), "VIFOpenVSwitch");
}

TEST_F(LeadingTest, KuryrPortBelongsToItsPod) {
  Start(SinkKind::kKuryrPort);
  const json created = cluster_.CreatePod("a");

  const json port = WaitForPort("a");

  EXPECT_EQ(port.at("spec").at("podUid"), created.at("metadata").at("uid"));
  EXPECT_EQ(port.at("metadata").at("labels").at("kuryr.openstack.org/nodeName"), "node1");
  EXPECT_EQ(port.at("metadata").at("ownerReferences")[0].at("uid"),
            created.at("metadata").at("uid"));
  EXPECT_EQ(VifsOn(port).size(), 1U);
  EXPECT_TRUE(HasFinalizer(cluster_.WaitFor("Pod", "a", HasFinalizer)));
}

TEST_F(LeadingTest, NamespacesEndPodsFirstFromKubernetes134On) {
  const auto ends_pods_first = [this](const std::string& minor) {
    api().Inject({.path_prefix = "/version",
                  .answer = {.body = json{{"major", "1"}, {"minor", minor}}.dump()}});
    return controller::EndsPodsFirst(config_);
  };

  EXPECT_TRUE(ends_pods_first("34"));
  EXPECT_TRUE(ends_pods_first("36+"));
  EXPECT_FALSE(ends_pods_first("33"));
  EXPECT_FALSE(ends_pods_first(""));
  api().Inject({.path_prefix = "/version", .answer = {.status = 403}});
  EXPECT_FALSE(controller::EndsPodsFirst(config_));
}

/// What the controller sends of pod a and its KuryrPort.
class EndingPortTest : public LeadingTest {
 protected:
  const std::string port_ = "/apis/openstack.org/v1/namespaces/default/kuryrports/a";
  const std::string pod_ = "/api/v1/namespaces/default/pods/a";

  void StartWithOnePod() {
    holds_ports_ = false;
    config_.workers = 1;
    Start(SinkKind::kKuryrPort);
    cluster_.CreatePod("a");
    EXPECT_FALSE(WaitForPort("a").at("metadata").contains("finalizers"));
    (void)cluster_.WaitFor("Pod", "a", HasFinalizer);
  }
  /// From the first DELETE on.
  std::vector<std::string> WritesAtItsEnd() {
    std::vector<std::string> writes;
    for (const auto& request : api().Requests()) {
      const bool is_write =
          request.method != "GET" && (request.path == port_ || request.path == pod_);
      if (is_write && (request.method == "DELETE" || !writes.empty()))
        writes.push_back(request.method + " " + request.path);
    }
    return writes;
  }
};

TEST_F(EndingPortTest, WhatNothingHoldsGoesWithOneRequest) {
  StartWithOnePod();

  SetStatus("a", {{"phase", "Succeeded"}});
  (void)cluster_.WaitForRelease("a");

  EXPECT_TRUE(cluster_.WaitUntilGone("KuryrPort", "a"));
  EXPECT_THAT(WritesAtItsEnd(), ElementsAre("DELETE " + port_, "PATCH " + pod_));
}

TEST_F(EndingPortTest, ItIsDeletedOnceAlsoWhileTheWatchIsSilent) {
  StartWithOnePod();
  api().Inject({.kind = fake::Fault::Kind::kSilence,
                .verb = "watch",
                .path_prefix = "/apis/openstack.org/v1/kuryrports",
                .count = -1});
  api().DropWatches();

  SetStatus("a", {{"phase", "Succeeded"}});
  (void)cluster_.WaitForRelease("a");

  api().Patch("pods", "default", "a", {{"metadata", {{"labels", {{"looked", "again"}}}}}});
  cluster_.CreatePod("b");
  (void)cluster_.WaitFor("Pod", "b", HasFinalizer);
  EXPECT_THAT(WritesAtItsEnd(), ElementsAre("DELETE " + port_, "PATCH " + pod_));
}

TEST_F(LeadingTest, NodesNameThatNoLabelMayHaveIsNone) {
  Start(SinkKind::kKuryrPort);
  const std::string node = std::string(70, 'n') + ".example.org";
  cluster_.CreatePod("a", {{"nodeName", node}});

  const json port = WaitForPort("a");

  EXPECT_EQ(port.at("metadata").value("labels", json::object()), json::object());
  EXPECT_EQ(port.at("spec").at("podNodeName"), node);
}

TEST_F(LeadingTest, PlanThatTheApiServerRefusesIsAnEventUntilItIsWritten) {
  fake::Fault quota = fake::Fault::Status(403, "exceeded quota: pods");
  quota.verb = "patch";
  api().Inject(quota);
  Start();
  cluster_.CreatePod("a");

  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrPlanNotWritten"), HasSubstr("exceeded quota"));
  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("a")));
}

TEST_F(LeadingTest, RecreatedPodGetsAKuryrPortOfItsOwn) {
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");
  (void)WaitForPort("a");
  api().Delete("pods", "default", "a");
  ASSERT_TRUE(cluster_.WaitUntilGone("Pod", "a"));

  const std::string uid = cluster_.CreatePod("a").at("metadata").at("uid");

  const json port = cluster_.WaitFor("KuryrPort", "a", [&](const json& object) {
    return HasVifs(object) && object.at("spec").at("podUid") == uid;
  });
  EXPECT_EQ(VifsOn(port).size(), 1U);
}

TEST_F(LeadingTest, KuryrPortThatAnOlderPodLeftIsReplaced) {
  api().Create(
      {{"kind", "KuryrPort"},
       {"apiVersion", "openstack.org/v1"},
       {"metadata",
        {{"name", "a"}, {"annotations", {{controller::kPlannerAnnotation, controller::kPlanner}}}}},
       {"spec", {{"podUid", "older"}, {"podNodeName", "node1"}}},
       {"status", {{"vifs", json::object()}}}});
  const std::string uid = cluster_.CreatePod("a").at("metadata").at("uid");

  Start(SinkKind::kKuryrPort);

  EXPECT_EQ(WaitForPort("a").at("spec").at("podUid"), uid);
}

TEST_F(LeadingTest, PodOfTheNodesNetworkOrWithoutANodeIsLeftAlone) {
  Start();
  cluster_.CreatePod("host", {{"hostNetwork", true}});
  cluster_.CreatePod("pending", {{"nodeName", nullptr}});
  cluster_.CreatePod("last");
  (void)cluster_.WaitForPlan("last");

  EXPECT_EQ(Writes("/api/v1/namespaces/default/pods/host"), 0U);
  EXPECT_EQ(Writes("/api/v1/namespaces/default/pods/pending"), 0U);
}

TEST_F(LeadingTest, PodIsPlannedWhenItGetsItsNode) {
  Start();
  cluster_.CreatePod("a", {{"nodeName", nullptr}});

  api().Patch("pods", "default", "a", {{"spec", {{"nodeName", "node1"}}}});

  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("a")));
}

TEST_F(LeadingTest, CompletedPodGivesItsAddressBack) {
  Pools(kTwoAddresses);
  Start();
  cluster_.CreatePod("a");
  cluster_.CreatePod("b");
  const std::string address = AddressOn(cluster_.WaitForPlan("a"));
  (void)cluster_.WaitForPlan("b");
  cluster_.CreatePod("c");
  EXPECT_THAT(cluster_.WaitForEvent("c", "KuryrNoFreeAddress"), HasSubstr("small"));

  SetStatus("a", {{"phase", "Succeeded"}});

  EXPECT_TRUE(cluster_.WaitForRelease("a").contains("metadata"));
  EXPECT_EQ(AddressOn(cluster_.WaitForPlan("c")), address);
}

TEST_F(LeadingTest, PodThatEndsWhileItWaitsGivesUpItsPlaceInTheLine) {
  Pools(kTwoAddresses);
  Start();
  for (const char* name : {"a", "b"}) {
    cluster_.CreatePod(name);
    (void)cluster_.WaitForPlan(name);
  }
  for (const char* name : {"first", "second"}) {
    cluster_.CreatePod(name);
    (void)cluster_.WaitForEvent(name, "KuryrNoFreeAddress");
  }
  SetStatus("first", {{"phase", "Failed"}});

  SetStatus("a", {{"phase", "Succeeded"}});

  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("second")));
}

TEST_F(LeadingTest, DeletedPodStaysUntilItsContainersHaveEnded) {
  Start();
  cluster_.CreatePod("a");
  (void)cluster_.WaitForPlan("a");
  SetStatus("a",
            {{"containerStatuses", {{{"name", "c"}, {"state", {{"running", json::object()}}}}}}});
  api().Delete("pods", "default", "a");
  cluster_.CreatePod("last");
  (void)cluster_.WaitForPlan("last");
  ASSERT_TRUE(api().Get("pods", "default", "a"));

  SetStatus(
      "a", {{"containerStatuses", {{{"name", "c"}, {"state", {{"terminated", json::object()}}}}}}});

  EXPECT_TRUE(cluster_.WaitUntilGone("Pod", "a"));
}

TEST_F(LeadingTest, DeletedPodKeepsItsPlanForItsGracePeriod) {
  Start();
  cluster_.CreatePod("a");
  const json planned = cluster_.WaitForPlan("a");
  api().Delete("pods", "default", "a", 30);
  for (const char* name : {"b", "c"}) {
    cluster_.CreatePod(name);
    (void)cluster_.WaitForPlan(name);
  }
  EXPECT_EQ(AddressOn(*api().Get("pods", "default", "a")), AddressOn(planned));

  api().Delete("pods", "default", "a");

  EXPECT_TRUE(cluster_.WaitUntilGone("Pod", "a"));
}

TEST_F(LeadingTest, DeletedPodOfAGoneNodeIsReleased) {
  Start();
  cluster_.CreatePod("a");
  (void)cluster_.WaitForPlan("a");
  SetStatus("a",
            {{"containerStatuses", {{{"name", "c"}, {"state", {{"running", json::object()}}}}}}});
  api().Delete("nodes", "", "node1");

  api().Delete("pods", "default", "a");

  EXPECT_TRUE(cluster_.WaitUntilGone("Pod", "a"));
}

TEST_F(LeadingTest, PlanOfAnotherProducerIsNeitherTouchedNorGivenAway) {
  Pools(kTwoAddresses);
  Start();
  cluster_.CreatePod("ours");
  const json ours = cluster_.WaitForPlan("ours");
  Stop();
  // On another pod, this plan is not the controller's own.
  api().Delete("pods", "default", "ours");
  api().Patch("pods", "default", "ours", {{"metadata", {{"finalizers", nullptr}}}});
  const json theirs =
      cluster_.CreatePod("theirs", {}, {{"annotations", ours.at("metadata").at("annotations")}});
  Start();
  cluster_.CreatePod("next");

  const std::string next = AddressOn(cluster_.WaitForPlan("next"));

  EXPECT_NE(next, AddressOn(theirs));
  EXPECT_EQ(api().Get("pods", "default", "theirs")->at("metadata").at("resourceVersion"),
            theirs.at("metadata").at("resourceVersion"));
}

TEST_F(LeadingTest, PlanWithAWholePoolTakesNothingOfIt) {
  Pools("[pool:p]\ncidr = 10.9.0.0/23\nnamespaces = *\n");
  vif::Subnet subnet;
  subnet.cidr = IpNetwork::Parse("10.9.0.0/23").value();
  std::vector<vif::FixedIp> addresses;
  for (int number = 0; number < 512; ++number) {
    addresses.push_back({.address = IpAddress::Parse("10.9." + std::to_string(number / 256) + "." +
                                                     std::to_string(number % 256))
                                        .value()});
  }
  subnet.ips = vif::FixedIpList{.objects = std::move(addresses)};
  vif::VifOpenVSwitch greedy;
  greedy.network = vif::Network();
  greedy.network->subnets = vif::SubnetList{.objects = std::vector<vif::Subnet>{subnet}};
  cluster_.CreatePod("greedy", {},
                     {{"annotations", {{vif::kVifAnnotation, vif::EncodeVif(greedy).dump()}}}});
  Start();
  cluster_.CreatePod("a");

  EXPECT_THAT(AddressOn(cluster_.WaitForPlan("a")), ::testing::StartsWith("10.9."));
  EXPECT_THAT(cluster_.WaitForEvent("greedy", "KuryrPlanUnusable"), HasSubstr("512 addresses"));
}

TEST_F(LeadingTest, KuryrPortOfAnotherProducerIsWaitedFor) {
  const json pod = cluster_.CreatePod("a", {{"nodeName", nullptr}});
  api().Create({{"kind", "KuryrPort"},
                {"apiVersion", "openstack.org/v1"},
                {"metadata", {{"name", "a"}}},
                {"spec", {{"podUid", pod.at("metadata").at("uid")}, {"podNodeName", "node1"}}},
                {"status", {{"vifs", json::object()}}}});
  Start(SinkKind::kKuryrPort);

  api().Patch("pods", "default", "a", {{"spec", {{"nodeName", "node1"}}}});
  cluster_.CreatePod("last");
  (void)WaitForPort("last");

  EXPECT_EQ(Writes("/api/v1/namespaces/default/pods/a"), 0U);
  EXPECT_EQ(Writes("/apis/openstack.org/v1/namespaces/default/kuryrports/a"), 0U);
}

TEST_F(LeadingTest, PodWhosePlanSomebodyRewroteIsLetGo) {
  Start();
  cluster_.CreatePod("a");
  const json pod = cluster_.WaitForPlan("a");
  json plan = json::parse(
      pod.at("metadata").at("annotations").at("openstack.org/kuryr-vif").get<std::string>());
  plan["versioned_object.data"]["default_vif"]["versioned_object.data"]["id"] =
      "11111111-2222-4333-8444-555555555555";
  api().Patch("pods", "default", "a",
              {{"metadata", {{"annotations", {{"openstack.org/kuryr-vif", plan.dump()}}}}}});

  SetStatus("a", {{"phase", "Succeeded"}});

  const json after = cluster_.WaitFor(
      "Pod", "a", [](const json& now) { return now.is_object() && !HasFinalizer(now); });
  EXPECT_EQ(after.at("metadata").at("annotations").at("openstack.org/kuryr-vif"), plan.dump());
}

TEST_F(LeadingTest, ConflictIsTriedAgain) {
  for (int i = 0; i < 2; ++i) {
    fake::Fault conflict = fake::Fault::Status(409, "the object has been modified");
    conflict.verb = "patch";
    api().Inject(conflict);
  }
  Start();
  cluster_.CreatePod("a");

  EXPECT_TRUE(HasFinalizer(cluster_.WaitForPlan("a")));
  EXPECT_EQ(Writes("/api/v1/namespaces/default/pods/a"), 3U);
}

TEST_F(LeadingTest, WishesOfThePodAreMet) {
  Start();
  cluster_.CreatePod("a", {},
                     {{"annotations",
                       {{controller::kAddressesAnnotation, "10.8.3.4"},
                        {controller::kMacAnnotation, "0a:00:00:00:00:07"}}}});

  const json pod = cluster_.WaitForPlan("a");

  EXPECT_EQ(AddressOn(pod), "10.8.3.4");
  EXPECT_EQ(vif::Common(VifsOn(pod)[0].vif).address->ToString(), "0a:00:00:00:00:07");
}

TEST_F(LeadingTest, WishThatCannotBeMetIsAnEventThatNamesIt) {
  Start();
  cluster_.CreatePod("a", {},
                     {{"annotations", {{controller::kAddressesAnnotation, "10.8.3.4,x"}}}});
  cluster_.CreatePod("b", {}, {{"annotations", {{controller::kAddressesAnnotation, "192.0.2.1"}}}});

  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrPlanRefused"), HasSubstr("ip-addresses"));
  EXPECT_THAT(cluster_.WaitForEvent("b", "KuryrPlanRefused"), HasSubstr("192.0.2.1"));
  EXPECT_EQ(Writes("/api/v1/namespaces/default/pods/"), 0U);
}

TEST_F(LeadingTest, OtherFinalizersAreKept) {
  Start();
  cluster_.CreatePod("a", {}, {{"finalizers", {"example.org/theirs"}}});
  EXPECT_THAT(cluster_.WaitForPlan("a").at("metadata").at("finalizers"),
              ::testing::ElementsAre("example.org/theirs", controller::kPodFinalizer));

  SetStatus("a", {{"phase", "Failed"}});

  EXPECT_THAT(cluster_.WaitForRelease("a").at("metadata").at("finalizers"),
              ::testing::ElementsAre("example.org/theirs"));
}

TEST_F(LeadingTest, NodeThatComesAfterItsPodIsWaitedFor) {
  Pools("[pool:nodes]\nfrom_node = true\nnamespaces = *\n");
  Start();
  cluster_.CreatePod("a", {{"nodeName", "late"}});
  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrBackendUnavailable"), HasSubstr("node late"));

  api().Create({{"kind", "Node"},
                {"apiVersion", "v1"},
                {"metadata", {{"name", "late"}}},
                {"spec", {{"podCIDRs", {"10.77.4.0/24"}}}}});

  EXPECT_THAT(AddressOn(cluster_.WaitForPlan("a")), ::testing::StartsWith("10.77.4."));
}

TEST_F(LeadingTest, DefinitionOfKuryrPortsThatComesBackIsWaitedFor) {
  fake::Fault gone = fake::Fault::Status(404, "the server could not find the requested resource");
  gone.verb = "create";
  gone.path_prefix = "/apis/openstack.org";
  gone.count = 2;
  api().Inject(gone);
  Start(SinkKind::kKuryrPort);
  cluster_.CreatePod("a");

  EXPECT_EQ(VifsOn(WaitForPort("a")).size(), 1U);
  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrBackendUnavailable"), HasSubstr("KuryrPort"));
}

TEST_F(LeadingTest, NodesOwnNetworksArePools) {
  Pools("[pool:nodes]\nfrom_node = true\nnamespaces = *\n");
  api().Patch("nodes", "", "node1", {{"spec", {{"podCIDRs", {"10.77.3.0/24"}}}}});
  Start();
  cluster_.CreatePod("a");

  EXPECT_THAT(AddressOn(cluster_.WaitForPlan("a")), ::testing::StartsWith("10.77.3."));
}

TEST_F(LeadingTest, UserOfANetworkPolicyIsToldThatNothingEnforcesIt) {
  Start();
  api().Create({{"kind", "NetworkPolicy"},
                {"apiVersion", "networking.k8s.io/v1"},
                {"metadata", {{"name", "deny"}, {"namespace", "default"}}}});

  EXPECT_THAT(cluster_.WaitForEvent("deny", "KuryrPolicyNotEnforced"),
              HasSubstr("enforces no policy of this kind"));
  EXPECT_THAT(Metrics(), HasSubstr("kuryr_controller_policies_not_enforced 1\n"));
}

TEST_F(LeadingTest, UserOfANetworkPolicyIsToldOfItsPodsInFlatPools) {
  Pools(
      "[node_network]\nenabled = true\n"
      "[pool:routed]\ncidr = 10.8.0.0/16\nnode_prefix = 24\ndefault = true\nnamespaces = *\n"
      "[pool:flat]\ncidr = 10.9.0.0/24\npods = net=flat\nnamespaces = *\n");
  Start();
  api().Create({{"kind", "NetworkPolicy"},
                {"apiVersion", "networking.k8s.io/v1"},
                {"metadata", {{"name", "deny"}, {"namespace", "default"}}},
                {"spec", {{"podSelector", json::object()}}}});
  cluster_.CreatePod("a", {}, {{"labels", {{"net", "flat"}}}});

  EXPECT_THAT(cluster_.WaitForEvent("deny", "KuryrPolicyRefused"),
              HasSubstr("no policy holds for pods of pool \"flat\""));
  EXPECT_THAT(Metrics(), AllOf(HasSubstr("kuryr_controller_policies_not_enforced 0\n"),
                               HasSubstr("kuryr_controller_policies_refused 1\n")));
}

}  // namespace
}  // namespace kuryr::test
