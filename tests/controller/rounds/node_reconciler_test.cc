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
class RecordingBackend final : public Backend {
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

  std::vector<std::string> adopted_;
  std::string port_ = "port-1";
  bool active_ = false;
};

class NodeReconcilerTest : public ::testing::Test {
 protected:
  NodeReconcilerTest() {
    cluster_.api().Create(
        {{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", {{"name", "node1"}}}});
  }

  /// One for the Node as the API server has it now.
  void Round() {
    nodes_.Handle(
        watcher::MakeEvent(watcher::EventType::kModified, client_.Get("/api/v1/nodes/node1")));
    NodeReconciler({.backend = backend_,
                    .queue = queue_,
                    .reporter = reporter_,
                    .metrics = metrics_,
                    .nodes = nodes_,
                    .node_network = options_,
                    .service_cidrs = services_,
                    .needs = {},
                    .ask_for_absent = [] {}},
                   writer_)
        .Round("/node1");
  }

  test::Cluster cluster_;
  RecordingBackend backend_;
  NodeStore nodes_{[](const std::string&) {}};
  PodStore pods_{{}, [](const std::string&) {}};
  service::WorkQueue queue_;
  Reporter reporter_{true};
  RoundMetrics metrics_;
  const NodeNetworkOptions options_;
  const ServiceCidrs services_{{}};
  watcher::ApiClient client_{cluster_.ApiConfig()};
  Writer writer_{client_, pods_, [] { return true; }};
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

}  // namespace
}  // namespace kuryr::controller
