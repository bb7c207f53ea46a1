// Plans that a pod's user has written cost only that user, whoever they name as their author.
#include <gmock/gmock.h>

#include "controller/backends/pools/pool_backend.h"
#include "controller/backends/pools/pool_factory.h"
#include "controller/owners/plan_verdict.h"
#include "tests/controller/leading_fixture.h"

namespace kuryr::test {
namespace {

std::vector<controller::pools::Pool> PoolsOf(const controller::Config& config) {
  return dynamic_cast<const controller::pools::PoolFactory&>(*config.backend).pools();
}

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kForgedVif = "openstack.org/kuryr-vif";
constexpr const char* kTwoPools =
    "[pool:pods]\ncidr = 10.8.0.0/29\nranges = 10.8.0.2-10.8.0.3\ndefault = true\nrest = 0\n"
    "[pool:theirs]\ncidr = 10.9.0.0/29\nnamespaces = bank\nrest = 0\n";

class UntrustedPlansTest : public LeadingTest {
 protected:
  void SetUp() override {
    LeadingTest::SetUp();
    Pools(kTwoPools);
  }
  /// The VIFs that a controller with other pools would have planned; their ids belong to this pod.
  static std::vector<vif::PodVif> Forge(const json& pod, const std::string& address,
                                        bool active = true) {
    const std::string file = ::testing::TempDir() + "kuryr-forger-" + std::to_string(::getpid());
    std::ofstream(file) << "[pool:theirs]\ncidr = 10.9.0.0/24\nranges = " << address
                        << "\ndefault = true\n";
    const Config config = controller::LoadConfig({file}, [](const char*) { return nullptr; });
    std::filesystem::remove(file);
    const json& metadata = pod.at("metadata");
    auto vifs = controller::pools::PoolBackend(PoolsOf(config))
                    .Reserve({.owner = {.id = metadata.at("uid"),
                                        .scope = "default",
                                        .name = metadata.at("name"),
                                        .node = "node1"},
                              .interfaces = {{.ifname = "eth0", .is_default = true}}})
                    .value();
    vif::Common(vifs.at(0).vif).active = active;
    return vifs;
  }
  void Annotate(const std::string& name, const std::vector<vif::PodVif>& vifs) {
    api().Patch("pods", "default", name,
                {{"metadata", {{"annotations", {{kForgedVif, vif::EncodeAnnotation(vifs)}}}}}});
  }
  void SetNode(const std::string& name) {
    api().Patch("pods", "default", name, {{"spec", {{"nodeName", "node1"}}}});
  }
};

TEST_F(UntrustedPlansTest, AnnotationIsNeverWrittenToAKuryrPort) {
  for (const bool active : {true, false}) {
    const std::string name = active ? "a" : "b";
    const json pod = cluster_.CreatePod(name, {{"nodeName", nullptr}});
    Annotate(name, Forge(pod, "10.9.0.3", active));
  }
  Start(SinkKind::kKuryrPort);

  for (const char* name : {"a", "b"}) {
    SetNode(name);
    EXPECT_THAT(AddressOn(WaitForPort(name)), StartsWith("10.8.0.")) << name;
  }
}

TEST_F(UntrustedPlansTest, PlansOfOthersCountWhereTheOperatorSaysSo) {
  for (const std::string others : {"none", "kuryrports", "annotations"}) {
    Pools(std::string(kTwoPools) + "[controller]\nother_producers = " + others + "\n");
    const auto sink = controller::PlacesOf(config_, SinkKind::kKuryrPort);
    EXPECT_EQ(sink.heeds_annotations(), others == "annotations") << others;
    EXPECT_EQ(sink.heeds_ports(), others != "none") << others;
  }
  Pools(kTwoPools);
  EXPECT_FALSE(controller::PlacesOf(config_, SinkKind::kKuryrPort).heeds_annotations());
  EXPECT_TRUE(controller::PlacesOf(config_, SinkKind::kKuryrPort).heeds_ports());
  EXPECT_TRUE(controller::PlacesOf(config_, SinkKind::kPodState).heeds_annotations());
}

TEST_F(UntrustedPlansTest, WithoutOtherProducersAKuryrPortInTheWayIsReplaced) {
  Pools(std::string(kTwoPools) + "[controller]\nother_producers = none\n");
  const json pod = cluster_.CreatePod("a", {{"nodeName", nullptr}});
  api().Create({{"kind", "KuryrPort"},
                {"apiVersion", "openstack.org/v1"},
                {"metadata", {{"name", "a"}}},
                {"spec", {{"podUid", pod.at("metadata").at("uid")}, {"podNodeName", "node1"}}},
                {"status", {{"vifs", json::object()}}}});
  Start(SinkKind::kKuryrPort);

  SetNode("a");

  EXPECT_THAT(AddressOn(WaitForPort("a")), StartsWith("10.8.0."));
}

TEST_F(UntrustedPlansTest, ForgedOwnPlanIsReplacedUntilThePodRuns) {
  Start(SinkKind::kKuryrPort);
  const json pod = cluster_.CreatePod("a");
  (void)WaitForPort("a");
  json port = *api().Get("kuryrports", "default", "a");
  port["status"]["vifs"]["eth0"]["vif"] =
      vif::EncodeVif(Forge(pod, "10.9.0.3").at(0).vif, vif::Changes::kOmit);

  api().Patch("kuryrports", "default", "a", {{"status", port["status"]}});

  (void)cluster_.WaitFor("KuryrPort", "a", [](const json& now) {
    return HasVifs(now) && AddressOn(now) == "10.9.0.3";
  });
  const json mended = cluster_.WaitFor("KuryrPort", "a", [](const json& now) {
    return HasVifs(now) && AddressOn(now).starts_with("10.8.0.");
  });
  EXPECT_THAT(AddressOn(mended), StartsWith("10.8.0."));
  // A controller that begins later knows for certain that the pod runs.
  Stop();
  informer_.reset();
  SetStatus("a", {{"phase", "Running"}, {"podIP", AddressOn(mended)}});
  api().Patch("kuryrports", "default", "a", {{"status", port["status"]}});
  Start(SinkKind::kKuryrPort);
  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrPlanRefused"),
              AllOf(HasSubstr("pool \"theirs\" is not for namespace default"),
                    HasSubstr("delete the pod")));
}

/// Judges other producers' plans as a leader does.
class HeedOthersTest : public UntrustedPlansTest {
 protected:
  void SetUp() override {
    UntrustedPlansTest::SetUp();
    backend_ = std::make_unique<controller::pools::PoolBackend>(PoolsOf(config_));
    store_.BeginTerm(
        {*backend_,
         {.sink = SinkKind::kKuryrPort, .others = controller::OtherProducers::kAnnotations}});
  }
  /// Tells the store of a pod with another producer's VIF with these addresses; returns its
  /// problem.
  std::string Hear(const std::vector<std::string>& addresses, const json& change = json::object()) {
    std::vector<vif::FixedIp> ips;
    for (const std::string& address : addresses)
      ips.push_back({.address = IpAddress::Parse(address).value()});
    vif::Subnet subnet;
    subnet.ips = vif::FixedIpList{.objects = std::move(ips)};
    vif::VifOpenVSwitch vif;
    vif.network = vif::Network();
    vif.network->subnets = vif::SubnetList{.objects = std::vector<vif::Subnet>{subnet}};
    json pod = {{"kind", "Pod"},
                {"apiVersion", "v1"},
                {"metadata",
                 {{"name", "p"},
                  {"namespace", "default"},
                  {"uid", "uid-p"},
                  {"resourceVersion", std::to_string(++version_)},
                  {"annotations", {{kForgedVif, vif::EncodeVif(vif).dump()}}}}},
                {"spec", {{"nodeName", "node1"}}}};
    pod.merge_patch(change);
    store_.Handle(watcher::MakeEvent(watcher::EventType::kModified, pod));
    return controller::ProblemOf(store_.Find("default/p"));
  }
  size_t Kept(const std::string& pool) {
    for (const auto& usage : backend_->Usage()) {
      if (usage.network == pool) return usage.used;
    }
    return 0;
  }

  int version_ = 0;
  std::unique_ptr<controller::pools::PoolBackend> backend_;
  controller::PodStore store_{controller::KindParts{}};
};

TEST_F(HeedOthersTest, OneAddressForEachInterfaceIsKept) {
  EXPECT_EQ(Hear({"10.8.0.2"}), "");
  EXPECT_EQ(Kept("pods"), 1U);
}

TEST_F(HeedOthersTest, MoreAddressesThanInterfacesAreToldAndNoneIsKept) {
  EXPECT_THAT(Hear({"10.8.0.2", "10.8.0.3"}),
              AllOf(HasSubstr("names 2 addresses"), HasSubstr("asks for 1 interface")));
  EXPECT_EQ(Kept("pods"), 0U);

  const json two = {{"metadata", {{"annotations", {{"k8s.v1.cni.cncf.io/networks", "blue"}}}}}};
  EXPECT_EQ(Hear({"10.8.0.2", "10.8.0.3"}, two), "");
  EXPECT_EQ(Kept("pods"), 2U);
}

TEST_F(HeedOthersTest, PoolOfAnotherNamespaceLosesNothing) {
  EXPECT_EQ(Hear({"10.9.0.3"}), "");
  EXPECT_EQ(Kept("theirs"), 0U);
}

TEST_F(HeedOthersTest, WhatIsNotOnANodeAnyMoreOrNotYetIsNotKept) {
  for (const json& change :
       {json{{"spec", {{"nodeName", nullptr}}}}, json{{"spec", {{"hostNetwork", true}}}},
        json{{"status", {{"phase", "Succeeded"}}}},
        json{{"metadata",
              {{"deletionTimestamp", "2026-11-27T10:00:00Z"},
               {"deletionGracePeriodSeconds", 0},
               {"finalizers", {"example.org/held"}}}}}}) {
    (void)Hear({"10.8.0.2"});
    EXPECT_EQ(Kept("pods"), 1U);

    (void)Hear({"10.8.0.2"}, change);

    EXPECT_EQ(Kept("pods"), 0U) << change;
  }
}

TEST_F(HeedOthersTest, WhatAPlanNamedBeforeIsFree) {
  for (const char* address : {"10.8.0.2", "10.8.0.3", "10.8.0.2"}) (void)Hear({address});

  EXPECT_EQ(Kept("pods"), 1U);
}

TEST_F(HeedOthersTest, OwnPlansAndClaimsGoBefore) {
  (void)Hear({"10.8.0.2"});
  const controller::Owner own{.id = "uid-own", .scope = "default", .name = "own", .node = "node1"};
  const controller::Owner claim{.id = "uid-claim", .scope = "bank", .name = "claim"};

  backend_->Keep(claim, {IpAddress::Parse("10.8.0.2").value()});

  EXPECT_THAT(Hear({"10.8.0.2"}, {{"metadata", {{"labels", {{"changed", "yes"}}}}}}),
              HasSubstr("another pod"));
  controller::PlanRequest request{
      .owner = {.id = "uid-next", .scope = "bank", .name = "next", .node = "node1"},
      .interfaces = {{.ifname = "eth0",
                      .is_default = true,
                      .network = "pods",
                      .addresses = {IpAddress::Parse("10.8.0.2").value()},
                      .claim = claim}}};
  EXPECT_EQ(backend_->Reserve(request).value().size(), 1U);

  (void)Hear({"10.8.0.3"});
  auto vifs = controller::pools::PoolBackend(PoolsOf(config_))
                  .Reserve({.owner = own,
                            .interfaces = {{.ifname = "eth0",
                                            .is_default = true,
                                            .addresses = {IpAddress::Parse("10.8.0.3").value()}}}})
                  .value();
  EXPECT_NO_THROW(backend_->Adopt(own, vifs)) << "another producer's plan is no conflict of ours";
}

}  // namespace
}  // namespace kuryr::test
