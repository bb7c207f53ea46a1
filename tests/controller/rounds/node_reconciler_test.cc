#include "controller/rounds/node_reconciler.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/controller/cluster.h"

namespace kuryr::controller {
namespace {

using ::testing::ElementsAre;

/// A backend that gives one VIF, and records which VIFs stand on an object.
class RecordingBackend final : public Backend, public ChassisKeeper {
 public:
  std::optional<std::vector<vif::PodVif>> Reserve(const PlanRequest& /*request*/) override {
    vif::VifOpenVSwitch vif;
    vif.id = port_;
    return std::vector<vif::PodVif>{{.ifname = "eth0", .is_default = true, .vif = vif}};
  }
  bool Owns(const Owner& /*owner*/, const vif::PodVif& /*vif*/) const override { return true; }
  void Adopt(const Owner& owner, const std::vector<vif::PodVif>& vifs) override {
    for (const vif::PodVif& vif : vifs)
      adopted_.push_back(owner.name + " " + vif::Common(vif.vif).id.value_or("") +
                         (vif::IsActive(vif) ? " active" : ""));
  }
  bool Await(const Owner& /*owner*/, const std::vector<vif::PodVif>& /*vifs*/) override {
    return active_;
  }
  bool Release(const std::string& /*owner_id*/) override { return true; }
  std::vector<Owner> Inventory() const override { return {}; }
  Facets facets() override { return {.chassis = this}; }
  void SetNode(const MachineOfNode& node) override {
    nodes_.push_back(node.name + " " + node.machine + " " + node.addresses.at(0).ToString());
  }
  void RemoveNode(const std::string& name) override { nodes_.push_back("no " + name); }
  std::optional<std::string> FindProblem(const std::string& /*node*/) const override {
    return problem_;
  }

  std::vector<std::string> adopted_;
  std::vector<std::string> nodes_;
  std::optional<std::string> problem_;
  std::string port_ = "port-1";
  bool active_ = false;
};

class NodeReconcilerTest : public ::testing::Test {
 protected:
  NodeReconcilerTest() {
    cluster_.api().Create(
        {{"kind", "Node"},
         {"apiVersion", "v1"},
         {"metadata", {{"name", "node1"}}},
         {"status",
          {{"nodeInfo", {{"machineID", "6ad1"}}},
           {"addresses", {{{"type", "InternalIP"}, {"address", "192.0.2.1"}}}}}}});
  }

  /// One for the Node as the API server has it now.
  void Round() {
    nodes_.Handle(
        watcher::MakeEvent(watcher::EventType::kModified, client_.Get("/api/v1/nodes/node1")));
    NodeReconciler(nodes_, {.backend = backend_,
                            .queue = queue_,
                            .reporter = reporter_,
                            .metrics = metrics_,
                            .nodes = nodes_,
                            .attachments = attachments_,
                            .claims = claims_,
                            .namespaces = namespaces_,
                            .service_cidrs = services_,
                            .node_network = options_,
                            .needs = {},
                            .ask_for_absent = [] {},
                            .writer = writer_,
                            .view = view_})
        .Look(Key::OfNode("node1"));
  }

  test::Cluster cluster_;
  RecordingBackend backend_;
  NodeStore nodes_{KindParts{}};
  PodStore pods_{KindParts{}};
  RoundQueue queue_;
  Reporter reporter_{true};
  RoundMetrics metrics_;
  const NodeNetworkOptions options_;
  NetworkAttachments attachments_{KindParts{}};
  IpamClaims claims_{KindParts{}};
  Namespaces namespaces_{KindParts{}};
  const ServiceCidrs services_{KindParts{}};
  Nodes read_nodes_;
  watcher::ApiClient client_{cluster_.ApiConfig()};
  Writer writer_{client_, pods_, [] { return true; }};
  ClusterView view_{client_, read_nodes_};
};

TEST_F(NodeReconcilerTest, BackendHearsOfEachPlanThatIsWritten) {
  Round();
  Round();
  EXPECT_THAT(backend_.adopted_, ElementsAre("node1 port-1"));

  backend_.active_ = true;
  Round();
  EXPECT_THAT(backend_.adopted_, ElementsAre("node1 port-1", "node1 port-1 active"));

  backend_.port_ = "port-2";
  Round();
  EXPECT_THAT(backend_.adopted_,
              ElementsAre("node1 port-1", "node1 port-1 active", "node1 port-2 active"));
}

TEST_F(NodeReconcilerTest, BackendHearsOfEachMachine) {
  Round();
  nodes_.BeginTerm({backend_});
  EXPECT_THAT(backend_.nodes_, ElementsAre("node1 6ad1 192.0.2.1"));

  cluster_.api().Patch("nodes", "", "node1", {{"status", {{"nodeInfo", {{"machineID", "0b17"}}}}}});
  Round();
  nodes_.Handle(
      watcher::MakeEvent(watcher::EventType::kDeleted, client_.Get("/api/v1/nodes/node1")));

  EXPECT_THAT(backend_.nodes_,
              ElementsAre("node1 6ad1 192.0.2.1", "node1 0b17 192.0.2.1", "no node1"));
}

TEST_F(NodeReconcilerTest, ProblemOfItsChassisIsTold) {
  backend_.problem_ = "chassis 0af1 has its address";
  Round();

  EXPECT_EQ(reporter_.problems().at("/node1").message, "chassis 0af1 has its address");
  EXPECT_THAT(backend_.adopted_, ElementsAre("node1 port-1"));  // It is planned all the same.
  backend_.problem_.reset();
  Round();
  EXPECT_TRUE(reporter_.problems().empty());
  (void)cluster_.WaitForEvent("node1", "KuryrNodeServed");
}

}  // namespace
}  // namespace kuryr::controller
