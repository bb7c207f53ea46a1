#include "controller/backends/ovn/endpoint_budget.h"

#include <gmock/gmock.h>

namespace kuryr::controller::ovn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::Pair;

constexpr size_t kVip = EndpointBudget::kVip;
constexpr size_t kVips = EndpointBudget::kMostVips;
constexpr size_t kSwitches = 7;

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

Service WithPorts(size_t count) {
  Service service = WithEndpoints(0);
  service.ports.resize(count, service.ports[0]);
  return service;
}

TEST(EndpointBudgetTest, ServicesThatFitAreBalanced) {
  EndpointBudget budget(2 * kVip + 2);

  EXPECT_THAT(budget.Take("a/one", WithEndpoints(2), kSwitches),
              ElementsAre(Pair("a/one", WithEndpoints(2))));
  EXPECT_THAT(budget.Take("a/two", WithEndpoints(0), kSwitches),
              ElementsAre(Pair("a/two", WithEndpoints(0))));
  EXPECT_EQ(budget.WhyNotBalanced("a/one"), std::nullopt);
  EXPECT_EQ(budget.waiting(), 0U);
}

TEST(EndpointBudgetTest, OneThatExceedsItWaitsForOthers) {
  EndpointBudget budget(2 * kVip + 3);
  (void)budget.Take("a/one", WithEndpoints(2), kSwitches);

  EXPECT_THAT(budget.Take("a/two", WithEndpoints(2), kSwitches),
              ElementsAre(Pair("a/two", Service())));
  EXPECT_EQ(budget.waiting(), 1U);
  EXPECT_THAT(budget.WhyNotBalanced("a/two"), Optional(HasSubstr("more than 19 endpoints")));
  EXPECT_THAT(budget.Take("a/three", WithEndpoints(1), kSwitches),
              ElementsAre(Pair("a/three", WithEndpoints(1))));
  EXPECT_THAT(budget.Take("a/one", Service(), kSwitches),
              ElementsAre(Pair("a/one", Service()), Pair("a/two", WithEndpoints(2))));
  EXPECT_EQ(budget.WhyNotBalanced("a/two"), std::nullopt);
}

TEST(EndpointBudgetTest, NamespacesTakeNothingFromEachOther) {
  EndpointBudget budget(kVip + 3);
  (void)budget.Take("a/one", WithEndpoints(3), kSwitches);

  EXPECT_THAT(budget.Take("b/one", WithEndpoints(3), kSwitches),
              ElementsAre(Pair("b/one", WithEndpoints(3))));
}

TEST(EndpointBudgetTest, PortsWithoutEndpointsCount) {
  EndpointBudget budget(10 * kVip);

  EXPECT_THAT(budget.Take("a/one", WithPorts(10), kSwitches),
              ElementsAre(Pair("a/one", WithPorts(10))));
  EXPECT_THAT(budget.Take("a/two", WithPorts(1), kSwitches), ElementsAre(Pair("a/two", Service())));
}

TEST(EndpointBudgetTest, ServiceMayHaveSoManyPortsAtAddresses) {
  EndpointBudget budget(3 * kVips * kVip);
  Service dual = WithPorts(kVips / 2);
  dual.cluster_ips.push_back(IpAddress::Parse("fd00:96::9").value());

  EXPECT_THAT(budget.Take("a/dual", dual, kSwitches), ElementsAre(Pair("a/dual", dual)));
  dual.ports.push_back(dual.ports[0]);
  EXPECT_THAT(budget.Take("a/dual", dual, kSwitches), ElementsAre(Pair("a/dual", Service())));
  EXPECT_THAT(budget.WhyNotBalanced("a/dual"),
              Optional(HasSubstr("spec.ports: 251 ports at 2 addresses; a Service may have 500")));
}

TEST(EndpointBudgetTest, HeadlessServicesCountNothing) {
  EndpointBudget budget(0);
  Service headless = WithEndpoints(1);
  headless.cluster_ips.clear();

  EXPECT_THAT(budget.Take("a/one", headless, kSwitches), ElementsAre(Pair("a/one", headless)));
}

TEST(EndpointBudgetTest, EachRowOfANodeCountsAsManyEndpoints) {
  Service local = WithEndpoints(3);
  local.local = true;
  local.ports[0].endpoints[0].node = "n1";
  local.ports[0].endpoints[1].node = "n2";
  local.ports.push_back(local.ports[0]);
  local.ports.back().protocol = "udp";
  const size_t cost = 2 * (3 + kVip) + 4 * EndpointBudget::kRow;

  EXPECT_THAT(EndpointBudget(cost).Take("a/one", local, kSwitches),
              ElementsAre(Pair("a/one", local)));
  EXPECT_THAT(EndpointBudget(cost - 1).Take("a/one", local, kSwitches),
              ElementsAre(Pair("a/one", Service())));
}

TEST(EndpointBudgetTest, WhatClientsPreferCounts) {
  Service by_zone = WithEndpoints(3);
  by_zone.ports[0].of_zone = {{"a", {by_zone.ports[0].endpoints[0], by_zone.ports[0].endpoints[1]}},
                              {"b", {by_zone.ports[0].endpoints[2]}}};
  const size_t of_zones = 3 + kVip + 3 + 2 * EndpointBudget::kRow;
  Service by_node = by_zone;
  by_node.ports[0].of_node = {{"n1", {by_zone.ports[0].endpoints[0]}}};
  const size_t of_both = of_zones + 1 + EndpointBudget::kRow + kSwitches * EndpointBudget::kPlace;

  for (const auto& [service, cost] : {std::pair(by_zone, of_zones), std::pair(by_node, of_both)}) {
    EXPECT_THAT(EndpointBudget(cost).Take("a/one", service, kSwitches),
                ElementsAre(Pair("a/one", service)));
    EndpointBudget less(cost - 1);
    EXPECT_THAT(less.Take("a/one", service, kSwitches),
                ElementsAre(Pair("a/one", WithEndpoints(3))))
        << "balanced without preferences";
    EXPECT_EQ(less.WhyNotBalanced("a/one"), std::nullopt);
  }
}

TEST(EndpointBudgetTest, OneThatWaitedHasNoPreferences) {
  EndpointBudget budget(kVip + 1);
  (void)budget.Take("a/one", WithEndpoints(1), kSwitches);
  Service by_zone = WithEndpoints(1);
  by_zone.ports[0].of_zone = {{"a", by_zone.ports[0].endpoints}};

  EXPECT_THAT(budget.Take("a/two", by_zone, kSwitches), ElementsAre(Pair("a/two", Service())));
  EXPECT_THAT(budget.Take("a/one", Service(), kSwitches),
              ElementsAre(Pair("a/one", Service()), Pair("a/two", WithEndpoints(1))));
}

TEST(EndpointBudgetTest, OneThatGrowsPastItIsBalancedNoMore) {
  EndpointBudget budget(kVip + 3);
  (void)budget.Take("a/one", WithEndpoints(2), kSwitches);

  EXPECT_THAT(budget.Take("a/one", WithEndpoints(4), kSwitches),
              ElementsAre(Pair("a/one", Service())));
  EXPECT_THAT(budget.Take("a/one", WithEndpoints(3), kSwitches),
              ElementsAre(Pair("a/one", WithEndpoints(3))));
}

}  // namespace
}  // namespace kuryr::controller::ovn
