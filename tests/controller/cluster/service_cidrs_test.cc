#include "controller/cluster/service_cidrs.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace kuryr::controller {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using watcher::EventType;

class ServiceCidrsTest : public ::testing::Test {
 protected:
  void Tell(EventType type, const std::string& name, const json& cidrs) {
    cidrs_.Handle(watcher::MakeEvent(type, {{"kind", "ServiceCIDR"},
                                            {"apiVersion", "networking.k8s.io/v1"},
                                            {"metadata", {{"name", name}}},
                                            {"spec", {{"cidrs", cidrs}}}}));
  }
  std::vector<std::string> All() const {
    std::vector<std::string> all;
    for (const IpNetwork& network : cidrs_.All()) all.push_back(network.ToString());
    return all;
  }

  ServiceCidrs cidrs_{{.node_network = {.service_cidrs = {IpNetwork::Parse("10.96.0.0/12").value()},
                                        .non_masquerade_cidrs = {}}}};
};

TEST_F(ServiceCidrsTest, ConfiguredOnesComeFirst) {
  EXPECT_THAT(All(), ElementsAre("10.96.0.0/12"));

  Tell(EventType::kAdded, "more", {"10.0.8.0/24", "fd00:96::/108"});

  EXPECT_THAT(All(), ElementsAre("10.96.0.0/12", "10.0.8.0/24", "fd00:96::/108"));
}

TEST_F(ServiceCidrsTest, OneWithinAnotherIsLeftOut) {
  Tell(EventType::kAdded, "kubernetes", {"10.96.0.0/16"});
  Tell(EventType::kAdded, "inner", {"10.0.8.0/24"});
  Tell(EventType::kAdded, "outer", {"10.0.0.0/16"});
  Tell(EventType::kAdded, "same", {"10.0.0.0/16"});

  EXPECT_THAT(All(), ElementsAre("10.96.0.0/12", "10.0.0.0/16"));
}

TEST_F(ServiceCidrsTest, DeletedOneIsGone) {
  Tell(EventType::kAdded, "more", {"10.0.8.0/24"});

  Tell(EventType::kDeleted, "more", {"10.0.8.0/24"});

  EXPECT_THAT(All(), ElementsAre("10.96.0.0/12"));
}

TEST_F(ServiceCidrsTest, MalformedFieldsArePassedOver) {
  Tell(EventType::kAdded, "one", 7);
  Tell(EventType::kAdded, "two", {7, "no", "10.0.8.0/24"});

  EXPECT_THAT(All(), ElementsAre("10.96.0.0/12", "10.0.8.0/24"));
}

}  // namespace
}  // namespace kuryr::controller
