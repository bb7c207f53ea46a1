#include "controller/rounds/reconciler.h"
#include "controller/plan/security_groups.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "controller/cluster/namespaces.h"
#include "tests/controller/cluster.h"
#include "watcher/api_error.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A backend that gives one VIF, in the state that the test wants.
class OneVifBackend final : public Backend, public LossReporter {
 public:
  std::optional<std::vector<vif::PodVif>> Reserve(const PlanRequest& request) override {
    asked_.push_back(request);
    if (busy_) return std::nullopt;
    vif::VifOpenVSwitch vif;
    vif.id = port_;
    vif.active = false;
    return std::vector<vif::PodVif>{{.ifname = "eth0", .is_default = true, .vif = vif}};
  }
  bool Owns(const Owner& /*owner*/, const vif::PodVif& /*vif*/) const override { return true; }
  void Adopt(const Owner& /*owner*/, const std::vector<vif::PodVif>& /*vifs*/) override {}
  bool Await(const Owner& /*owner*/, const std::vector<vif::PodVif>& /*vifs*/) override {
    return active_;
  }
  std::optional<std::string> FindLost(const Owner& /*owner*/) const override { return lost_; }
  bool Release(const std::string& /*owner_id*/) override { return true; }
  std::vector<Owner> Inventory() const override { return {}; }
  Facets facets() override { return {.losses = this}; }

  std::vector<PlanRequest> asked_;
  std::string port_ = "port-1";
  bool active_ = false;
  bool busy_ = false;
  std::optional<std::string> lost_;
};

/// Rounds for one pod; the store knows it as the API server has it.
class ReconcilerTest : public ::testing::Test {
 protected:
  ReconcilerTest() {
    store_.BeginTerm({backend_, {.sink = SinkKind::kPodState}});
    cluster_.CreatePod("a", {}, {{"annotations", {{kSecurityGroupsAnnotation, groups_}}}});
    Tell();
  }

  void Tell() {
    store_.Handle(
        watcher::MakeEvent(watcher::EventType::kModified, client_.Get(PodPath("default", "a"))));
  }
  void Round(const std::string& pod = "a") {
    Reconciler(store_, parts_).Look(Key::OfPod("default", pod));
  }
  [[nodiscard]] std::string Annotation() {
    return client_.Get(PodPath("default", "a"))
        .at("metadata")
        .at("annotations")
        .value(vif::kVifAnnotation, "");
  }
  size_t Patches() {
    const auto requests = cluster_.api().Requests();
    return static_cast<size_t>(std::count_if(
        requests.begin(), requests.end(), [](const auto& one) { return one.method == "PATCH"; }));
  }

  const std::string groups_ = "9ebc225a-aa2a-44fa-9a71-0a1e1e0c9adf";
  test::Cluster cluster_;
  OneVifBackend backend_;
  PodStore store_{KindParts{}};
  RoundQueue queue_;
  Reporter reporter_{true};
  RoundMetrics metrics_;
  Nodes nodes_;
  NetworkAttachments attachments_{KindParts{}};
  IpamClaims claims_{KindParts{}};
  Namespaces namespaces_{{.wake = [this](const Key& key) { queue_.Add(key); }}};
  NodeStore node_store_{KindParts{}};
  NodeNetworkOptions node_network_;
  ServiceCidrs service_cidrs_{KindParts{}};
  watcher::ApiClient client_{cluster_.ApiConfig()};
  Writer writer_{client_, store_, [] { return true; }};
  ClusterView view_{client_, nodes_};
  RoundParts parts_{.backend = backend_,
                    .queue = queue_,
                    .reporter = reporter_,
                    .metrics = metrics_,
                    .nodes = node_store_,
                    .attachments = attachments_,
                    .claims = claims_,
                    .namespaces = namespaces_,
                    .service_cidrs = service_cidrs_,
                    .node_network = node_network_,
                    .needs = {},
                    .ask_for_absent = [] {},
                    .sink = SinkKind::kPodState,
                    .writer = writer_,
                    .view = view_};
};

TEST_F(ReconcilerTest, NothingIsWrittenWhileTheBackendWorksOnThePlan) {
  backend_.busy_ = true;
  for (const SinkKind sink : {SinkKind::kKuryrPort, SinkKind::kPodState}) {
    parts_.sink = sink;
    Round();
  }

  EXPECT_EQ(Patches(), 0U);
}

TEST_F(ReconcilerTest, PlanThatIsNotActiveIsWrittenAnewWhereItsVifIsAnother) {
  Round();
  EXPECT_THAT(Annotation(), HasSubstr("port-1"));
  Round();
  EXPECT_EQ(Patches(), 1U) << "nothing has changed";

  backend_.port_ = "port-2";
  Round();

  EXPECT_THAT(Annotation(), HasSubstr("port-2"));
  EXPECT_THAT(Annotation(), ::testing::Not(HasSubstr("port-1")));
  backend_.active_ = true;
  Round();
  EXPECT_THAT(Annotation(), HasSubstr("\"active\":true"));
}

TEST_F(ReconcilerTest, ActivePlanWhosePortIsLostStaysAndIsTold) {
  backend_.active_ = true;
  Round();
  const std::string plan = Annotation();

  backend_.lost_ = "Neutron has no more eth0's port port-1";
  Round();

  EXPECT_EQ(Annotation(), plan);
  EXPECT_THAT(cluster_.WaitForEvent("a", kPortLost), HasSubstr("port-1"));
  EXPECT_EQ(reporter_.problems().at("default/a").reason, kPortLost);
  backend_.lost_.reset();
  Round();
  EXPECT_THAT(reporter_.problems(), IsEmpty());
}

TEST_F(ReconcilerTest, PodThatNeedsNothingCostsNoRequest) {
  backend_.active_ = true;
  Round();
  const size_t requests = cluster_.api().Requests().size();

  Round();

  EXPECT_EQ(cluster_.api().Requests().size(), requests);
}

TEST_F(ReconcilerTest, PodWhoseNamespaceIsNotHeardOfYetWaitsForIt) {
  parts_.needs.scopes = true;
  Round();
  EXPECT_THAT(backend_.asked_, IsEmpty());
  EXPECT_THAT(reporter_.problems(), IsEmpty());

  namespaces_.Handle(watcher::MakeEvent(
      watcher::EventType::kAdded,
      {{"kind", "Namespace"}, {"metadata", {{"name", "default"}, {"uid", "uid-of-default"}}}}));

  EXPECT_EQ(queue_.Get()->key, Key::OfPod("default", "a"));
  Round();
  ASSERT_THAT(backend_.asked_, SizeIs(1));
  EXPECT_EQ(backend_.asked_[0].scope.id, "uid-of-default");
  EXPECT_THAT(backend_.asked_[0].interfaces.at(0).security_groups, ElementsAre(groups_));
}

TEST_F(ReconcilerTest, NamespacesThatMayNotBeReadAreAnEvent) {
  parts_.needs.scopes = true;
  namespaces_.Refuse("403");

  Round();

  EXPECT_THAT(cluster_.WaitForEvent("a", "KuryrBackendUnavailable"),
              HasSubstr("namespaces cannot be read: 403"));
}

TEST_F(ReconcilerTest, KuryrPortOfAPodThatIsNotHeardOfYetStays) {
  const json pod = cluster_.CreatePod("b");
  const json port = cluster_.api().Create(
      {{"kind", "KuryrPort"},
       {"apiVersion", "openstack.org/v1"},
       {"metadata", {{"name", "b"}, {"annotations", {{kPlannerAnnotation, kPlanner}}}}},
       {"spec", {{"podUid", pod.at("metadata").at("uid")}, {"podNodeName", "node1"}}},
       {"status", {{"vifs", json::object()}}}});
  store_.Handle(watcher::MakeEvent(watcher::EventType::kAdded, port));
  const std::string path = PortsPath("default") + "/b";

  Round("b");

  EXPECT_EQ(client_.Get(path).at("metadata").at("uid"), port.at("metadata").at("uid"));
  cluster_.api().Delete("pods", "default", "b");
  cluster_.CreatePod("b");
  Round("b");
  EXPECT_THROW((void)client_.Get(path), watcher::ApiError) << "it is of an earlier pod";
}

/// Another producer has made its KuryrPort, and this controller has not heard of it yet.
class UnheardKuryrPortTest : public ReconcilerTest {
 protected:
  UnheardKuryrPortTest() {
    parts_.sink = SinkKind::kKuryrPort;
    port_ = cluster_.api().Create(
        {{"kind", "KuryrPort"},
         {"apiVersion", "openstack.org/v1"},
         {"metadata", {{"name", "a"}}},
         {"spec", {{"podUid", Pod().at("metadata").at("uid")}, {"podNodeName", "node1"}}},
         {"status", {{"vifs", json::object()}}}});
  }

  [[nodiscard]] json Pod() { return client_.Get(PodPath("default", "a")); }
  [[nodiscard]] json Finalizers() { return Pod().at("metadata").value("finalizers", json()); }
  void PatchPod(const json& patch) { cluster_.api().Patch("pods", "default", "a", patch); }
  void HearOfPort() { store_.Handle(watcher::MakeEvent(watcher::EventType::kAdded, port_)); }

  json port_;
};

TEST_F(UnheardKuryrPortTest, FinalizerIsTakenBack) {
  PatchPod({{"metadata", {{"finalizers", {"example.org/own"}}}}});
  Tell();
  Round();
  EXPECT_EQ(Finalizers(), json({"example.org/own", kPodFinalizer})) << "the port is in its way";

  Round();

  EXPECT_EQ(Finalizers(), json({"example.org/own"}));
  EXPECT_EQ(client_.Get(PortsPath("default") + "/a"), port_);
}

TEST_F(UnheardKuryrPortTest, DeletedPodEnds) {
  Round();
  cluster_.api().Delete("pods", "default", "a");
  Tell();

  Round();

  EXPECT_THROW((void)Pod(), watcher::ApiError) << "it is still there";
}

TEST_F(UnheardKuryrPortTest, PlanOnThePodStaysUntilThePodIsDone) {
  parts_.sink = SinkKind::kPodState;
  backend_.port_ = "11111111-2222-4333-8444-555555555555";
  Round();
  HearOfPort();
  Tell();
  ASSERT_EQ(store_.Find("default/a").pod->plan.problem, "");
  Round();
  EXPECT_NE(Annotation(), "");
  EXPECT_EQ(Finalizers(), json({kPodFinalizer}));
  cluster_.api().Delete("pods", "default", "a");
  Tell();

  Round();

  EXPECT_THROW((void)Pod(), watcher::ApiError) << "it is still there";
}

TEST_F(UnheardKuryrPortTest, FinalizerOfThatProducerStays) {
  PatchPod({{"metadata", {{"finalizers", {kPodFinalizer}}}}});
  Tell();
  HearOfPort();

  Round();

  EXPECT_EQ(Finalizers(), json({kPodFinalizer}));
  EXPECT_EQ(Patches(), 0U);
}

}  // namespace
}  // namespace kuryr::controller
