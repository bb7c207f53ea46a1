#include <gmock/gmock.h>

#include "controller/cluster/network_attachments.h"
#include "controller/owners/lost_plan.h"
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
  void AskFor(const json& networks) {
    api().Patch("pods", "default", "a",
                {{"metadata", {{"annotations", {{controller::kNetworksAnnotation, networks}}}}}});
  }
  /// As kuryr-daemon tells: the pod has these interfaces.
  void TellInterfaces(const std::vector<vif::PodVif>& vifs) {
    json status = json::array();
    for (const vif::PodVif& vif : vifs) {
      status.push_back({{"interface", vif.ifname}});
      for (const IpNetwork& address : vif::AddressesOf(vif::Common(vif.vif)))
        status.back()["ips"].push_back(address.address.ToString());
    }
    api().Patch(
        "pods", "default", "a",
        {{"metadata", {{"annotations", {{controller::kNetworkStatusAnnotation, status.dump()}}}}}});
  }
  static std::string FormerOn(const json& object) {
    return object["metadata"]["annotations"].value(controller::kFormerAnnotation, "");
  }
  static std::string AddressOf(const vif::PodVif& vif) {
    return vif::AddressesOf(vif::Common(vif.vif)).front().address.ToString();
  }
  static Cluster::Condition HasCount(size_t count) {
    return [count](const json& object) {
      return object.is_object() && VifsOn(object).size() == count;
    };
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

TEST_F(AdditionalNetworksTest, RunningPodMayAskForMoreAndForLess) {
  Define("store", "storage");
  Start();
  CreatePodWith("");
  const auto first = VifsOn(cluster_.WaitForPlan("a"));
  SetStatus("a", {{"phase", "Running"}});

  AskFor("store");
  const auto both = VifsOn(cluster_.WaitFor("Pod", "a", HasCount(2)));
  AskFor(nullptr);
  const json less = cluster_.WaitFor("Pod", "a", HasCount(1));

  EXPECT_EQ(both.at(0), first.at(0));
  EXPECT_EQ(both.at(1).ifname, "net1");
  EXPECT_EQ(VifsOn(less), first);
  EXPECT_EQ(FormerOn(less), AddressOf(both.at(1))) << "the node may have it still";
  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrPlanChanged"), HasSubstr("net1"));
}

TEST_F(AdditionalNetworksTest, AddressOfARemovedInterfaceIsFreeOnceItsNodeTells) {
  Define("store", "storage");
  Start();
  CreatePodWith("store");
  const auto both = VifsOn(cluster_.WaitForPlan("a"));
  SetStatus("a", {{"phase", "Running"}});
  TellInterfaces(both);
  AskFor("");
  const auto less = VifsOn(cluster_.WaitFor("Pod", "a", HasCount(1)));
  EXPECT_THAT(Metrics(), HasSubstr(R"({network="storage",family="ipv4",state="used"} 2)"));

  TellInterfaces(less);
  (void)cluster_.WaitFor("Pod", "a", [](const json& pod) { return FormerOn(pod).empty(); });
  AskFor("store@san0");
  (void)cluster_.WaitFor("Pod", "a", HasCount(2));

  EXPECT_THAT(Metrics(), HasSubstr(R"({network="storage",family="ipv4",state="used"} 2)"));
  EXPECT_THAT(Metrics(), HasSubstr(R"({network="storage",family="ipv4",state="resting"} 1)"));
}

TEST_F(AdditionalNetworksTest, PodOfAChangedKuryrPortTellsItsNode) {
  Define("store", "storage");
  Start(SinkKind::kKuryrPort);
  CreatePodWith("");
  (void)WaitForPort("a");
  SetStatus("a", {{"phase", "Running"}});

  AskFor("store");
  const auto vifs = VifsOn(cluster_.WaitFor("KuryrPort", "a", HasCount(2)));
  const auto is_told = [&](const json& pod) {
    return pod["metadata"]["annotations"].value(vif::kPlannedAnnotation, "") ==
           vif::InterfacesOf(vifs);
  };

  EXPECT_TRUE(is_told(cluster_.WaitFor("Pod", "a", is_told)));
}

TEST_F(AdditionalNetworksTest, RunningPodKeepsItsPlanWhereItsNewNetworksAreRefused) {
  Define("store", "secret");
  Start();
  CreatePodWith("");
  const auto first = VifsOn(cluster_.WaitForPlan("a"));

  AskFor("store");

  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrPlanRefused"), HasSubstr("secret"));
  EXPECT_EQ(VifsOn(*api().Get("pods", "default", "a")), first);
}

class FailedChangeTest : public AdditionalNetworksTest,
                         public ::testing::WithParamInterface<SinkKind> {
 protected:
  /// A request of a change, or of the release after it.
  struct Call {
    std::string verb;
    std::string path;
  };

  static std::vector<Call> Calls() {
    const std::string pod = "/api/v1/namespaces/default/pods/a";
    return {{"get", pod},
            {"patch", pod},
            {"patch", "/apis/openstack.org/v1/namespaces/default/kuryrports/a"},
            {"create", "/api/v1/namespaces/default/events"}};
  }
  static std::vector<fake::Fault> FaultsOf(const Call& call) {
    std::vector<fake::Fault> faults = {fake::Fault::Status(500, "no"),
                                       fake::Fault::Status(409, "no"),
                                       {.kind = fake::Fault::Kind::kDrop}};
    for (fake::Fault& fault : faults) {
      fault.verb = call.verb;
      fault.path_prefix = call.path;
    }
    return faults;
  }
  static const char* PlanKind() { return GetParam() == SinkKind::kKuryrPort ? "KuryrPort" : "Pod"; }
  std::vector<vif::PodVif> WaitForVifs(size_t count) {
    return VifsOn(cluster_.WaitFor(PlanKind(), "a", HasCount(count)));
  }
  void WaitUntilReleased() {
    (void)cluster_.WaitFor(PlanKind(), "a",
                           [](const json& object) { return FormerOn(object).empty(); });
  }
};

TEST_P(FailedChangeTest, EachRequestIsRepeatedAndLosesNoAddress) {
  Define("store", "storage");
  Start(GetParam());
  CreatePodWith("");
  const auto first = WaitForVifs(1);
  SetStatus("a", {{"phase", "Running"}});

  for (const Call& call : Calls()) {
    for (const fake::Fault& fault : FaultsOf(call)) {
      SCOPED_TRACE(call.verb + " " + call.path);
      api().Inject(fault);
      AskFor("store");
      const auto both = WaitForVifs(2);
      EXPECT_EQ(AddressOf(both.at(0)), AddressOf(first.at(0)));
      TellInterfaces(both);
      api().ClearFaults();

      api().Inject(fault);
      AskFor(nullptr);
      const auto less = WaitForVifs(1);
      EXPECT_EQ(AddressOf(less.at(0)), AddressOf(first.at(0)));
      TellInterfaces(less);
      WaitUntilReleased();
      api().ClearFaults();
    }
  }
  AskFor("store");
  (void)WaitForVifs(2);
  EXPECT_THAT(Metrics(), HasSubstr(R"({network="storage",family="ipv4",state="used"} 2)"));
}

INSTANTIATE_TEST_SUITE_P(Sinks, FailedChangeTest,
                         ::testing::Values(SinkKind::kPodState, SinkKind::kKuryrPort),
                         [](const auto& sink) {
                           return sink.param == SinkKind::kPodState ? "PodState" : "KuryrPort";
                         });

}  // namespace
}  // namespace kuryr::test
