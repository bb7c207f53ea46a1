#include "controller/backends/ovn/endpoint_budget.h"

#include <gmock/gmock.h>

namespace kuryr::controller::ovn {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Service WithEndpoints(uint16_t count) {
  ServicePort port{.protocol = "tcp", .port = 80, .endpoints = {}};
  port.endpoints.reserve(count);
  for (uint16_t number = 1; number <= count; ++number)
    port.endpoints.push_back({IpAddress::Parse("10.4.0.2").value(), number, ""});
  return {.cluster_ips = {IpAddress::Parse("10.96.0.9").value()},
          .affinity = std::nullopt,
          .local = false,
          .ports = {port}};
}

TEST(EndpointBudgetTest, ServicesThatFitAreBalanced) {
  EndpointBudget budget(3);

  EXPECT_THAT(budget.Take("a/one", WithEndpoints(2)), ElementsAre(Pair("a/one", WithEndpoints(2))));
  EXPECT_THAT(budget.Take("a/two", WithEndpoints(1)), ElementsAre(Pair("a/two", WithEndpoints(1))));
  EXPECT_THAT(budget.Take("a/two", WithEndpoints(0)), ElementsAre(Pair("a/two", WithEndpoints(0))));
}

TEST(EndpointBudgetTest, OneThatExceedsItWaitsForOthers) {
  EndpointBudget budget(3);
  (void)budget.Take("a/one", WithEndpoints(2));

  EXPECT_THAT(budget.Take("a/two", WithEndpoints(2)), ElementsAre(Pair("a/two", Service())));
  EXPECT_THAT(budget.Take("a/three", WithEndpoints(1)),
              ElementsAre(Pair("a/three", WithEndpoints(1))));
  EXPECT_THAT(budget.Take("a/one", Service()),
              ElementsAre(Pair("a/one", Service()), Pair("a/two", WithEndpoints(2))));
}

TEST(EndpointBudgetTest, NamespacesTakeNothingFromEachOther) {
  EndpointBudget budget(3);
  (void)budget.Take("a/one", WithEndpoints(3));

  EXPECT_THAT(budget.Take("b/one", WithEndpoints(3)), ElementsAre(Pair("b/one", WithEndpoints(3))));
}

TEST(EndpointBudgetTest, EachRowOfANodeCountsAsManyEndpoints) {
  Service local = WithEndpoints(3);
  local.local = true;
  local.ports[0].endpoints[0].node = "n1";
  local.ports[0].endpoints[1].node = "n2";
  local.ports.push_back(local.ports[0]);
  local.ports.back().protocol = "udp";
  const size_t cost = 2 * 3 + 4 * EndpointBudget::kRow;

  EXPECT_THAT(EndpointBudget(cost).Take("a/one", local), ElementsAre(Pair("a/one", local)));
  EXPECT_THAT(EndpointBudget(cost - 1).Take("a/one", local), ElementsAre(Pair("a/one", Service())));
}

TEST(EndpointBudgetTest, OneThatGrowsPastItIsBalancedNoMore) {
  EndpointBudget budget(3);
  (void)budget.Take("a/one", WithEndpoints(2));

  EXPECT_THAT(budget.Take("a/one", WithEndpoints(4)), ElementsAre(Pair("a/one", Service())));
  EXPECT_THAT(budget.Take("a/one", WithEndpoints(3)), ElementsAre(Pair("a/one", WithEndpoints(3))));
}

}  // namespace
}  // namespace kuryr::controller::ovn
