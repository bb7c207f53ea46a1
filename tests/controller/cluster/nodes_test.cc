#include "controller/cluster/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "controller/plan/plan_error.h"
#include "tests/controller/cluster.h"

// The networks and addresses of a node by the API server.

namespace kuryr::test {
namespace {

using controller::PlanError;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NodesTest : public ::testing::Test {
 protected:
  void AddNode(const json& addresses) {
    cluster_.api().Create({{"kind", "Node"},
                           {"apiVersion", "v1"},
                           {"metadata", {{"name", "node1"}}},
                           {"status", {{"addresses", addresses}}}});
  }
  std::vector<IpAddress> Addresses() { return nodes_.AddressesOf("node1", client_); }

  Cluster cluster_;
  watcher::ApiClient client_{cluster_.ApiConfig()};
  controller::Nodes::Clock::time_point now_;
  controller::Nodes nodes_{[this] { return now_; }};
};

TEST_F(NodesTest, InternalAddressesAreTheNodes) {
  AddNode({{{"type", "Hostname"}, {"address", "192.0.2.1"}},
           {{"type", "InternalIP"}, {"address", "192.0.2.10"}},
           {{"type", "ExternalIP"}, {"address", "198.51.100.1"}},
           {{"type", "InternalIP"}, {"address", "nonsense"}},
           "nonsense",
           {{"type", "InternalIP"}, {"address", "2001:db8::10"}}});

  EXPECT_THAT(Addresses(), ElementsAre(IpAddress::Parse("192.0.2.10").value(),
                                       IpAddress::Parse("2001:db8::10").value()));
}

TEST_F(NodesTest, NodeIsAskedForOnce) {
  AddNode({{{"type", "InternalIP"}, {"address", "192.0.2.10"}}});
  const auto first = Addresses();
  cluster_.api().Patch("nodes", "", "node1", {{"status", {{"addresses", json::array()}}}});

  EXPECT_EQ(Addresses(), first);
}

TEST_F(NodesTest, NodeWithoutAddressesIsAskedAgain) {
  AddNode(json::array());
  try {
    (void)Addresses();
    FAIL();
  } catch (const PlanError& e) {
    EXPECT_EQ(e.kind(), PlanError::Kind::kRetry);
    EXPECT_THAT(e.what(), HasSubstr("node node1 has no status.addresses of type InternalIP"));
  }
  cluster_.api().Patch(
      "nodes", "", "node1",
      {{"status", {{"addresses", {{{"type", "InternalIP"}, {"address", "192.0.2.10"}}}}}}});

  EXPECT_THAT(Addresses(), ElementsAre(IpAddress::Parse("192.0.2.10").value()));
}

TEST_F(NodesTest, NodeThatIsNotThereIsAskedForAgain) {
  for (const auto& ask :
       {std::function<void()>([&] { (void)Addresses(); }),
        std::function<void()>([&] { (void)nodes_.PodCidrsOf("node1", client_); })}) {
    try {
      ask();
      FAIL();
    } catch (const PlanError& e) {
      EXPECT_EQ(e.kind(), PlanError::Kind::kRetry);
      EXPECT_THAT(e.what(), HasSubstr("node node1 is not there"));
    }
  }
}

TEST_F(NodesTest, AfterAWhileTheNameMayBeAnotherNodes) {
  const auto set = [&](const char* cidr) {
    cluster_.api().Patch("nodes", "", "node1", {{"spec", {{"podCIDRs", {cidr}}}}});
  };
  AddNode(json::array());
  set("10.77.1.0/24");
  const auto first = nodes_.PodCidrsOf("node1", client_);
  set("10.77.2.0/24");
  EXPECT_EQ(nodes_.PodCidrsOf("node1", client_), first);

  now_ += controller::Nodes::kFresh;

  EXPECT_THAT(nodes_.PodCidrsOf("node1", client_),
              ElementsAre(IpNetwork::Parse("10.77.2.0/24").value()));
}

}  // namespace
}  // namespace kuryr::test
