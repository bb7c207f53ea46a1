#include "controller/backends/ovn/policy_rows.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/controller/backends/pools/backend_fixture.h"

namespace kuryr::controller::ovn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

IpNetwork Net(const std::string& text) { return IpNetwork::Parse(text).value(); }

/// A policy that allows `rule` to pods of "web".
CompiledPolicy PolicyOf(PolicyRule rule) {
  rule.subject = "web";
  return {.subject = "web", .isolates_ingress = true, .rules = {std::move(rule)}};
}

/// The match of the rule's ACL, with the port groups' names as GROUP(SET).
std::string MatchOf(PolicyRule rule) {
  PolicyRows rows("kuryr");
  const auto changes = rows.Take({{"team/p", PolicyOf(std::move(rule))}});
  std::string match;
  for (const WantedRow& row : changes.wanted) {
    if (row.key == RowKey{"ACL", "policy/team/p/0"}) match = row.values.at("match");
  }
  for (const WantedRow& row : changes.wanted) {
    if (row.key.table != "Port_Group") continue;
    const std::string name = row.values.at("name");
    for (size_t at = 0; (at = match.find(name)) != std::string::npos;)
      match.replace(at, name.size(), "GROUP(" + row.key.name + ")");
  }
  return match;
}

std::vector<std::string> NamesOf(const std::vector<WantedRow>& rows) {
  std::vector<std::string> names;
  for (const WantedRow& row : rows) names.push_back(row.key.table + " " + row.key.name);
  return names;
}

std::vector<std::string> NamesOf(const std::vector<RowKey>& keys) {
  std::vector<std::string> names;
  for (const RowKey& key : keys) names.push_back(key.table + " " + key.name);
  return names;
}

TEST(PolicyRowsTest, AllPeersAndPorts) {
  EXPECT_EQ(MatchOf({.any_peer = true, .any_port = true}), "outport == @GROUP(web) && ip");
}

TEST(PolicyRowsTest, PodsAreAddressesOfTheirPortGroups) {
  EXPECT_EQ(MatchOf({.peers = {"a", "b"}, .any_port = true}),
            "outport == @GROUP(web) && ip && (ip4.src == {$GROUP(a)_ip4, $GROUP(b)_ip4} || "
            "ip6.src == {$GROUP(a)_ip6, $GROUP(b)_ip6})");
}

TEST(PolicyRowsTest, EgressIsOfTheSenderAfterItsLoadBalancer) {
  PolicyRows rows("kuryr");
  const auto changes =
      rows.Take({{"team/p", CompiledPolicy{
                                .subject = "web",
                                .isolates_egress = true,
                                .rules = {{.direction = TrafficDirection::kEgress,
                                           .subject = "web",
                                           .blocks = {{.network = Net("10.1.2.3/8"), .except = {}}},
                                           .any_port = true}}}}});

  ASSERT_THAT(NamesOf(changes.wanted),
              ElementsAre("ACL isolated/egress/web", "ACL policy/team/p/0",
                          "ACL tracked/isolated/egress/web", "Port_Group web"));
  for (const WantedRow& row : {changes.wanted[0], changes.wanted[1]}) {
    EXPECT_EQ(row.values.at("direction"), "from-lport");
    EXPECT_EQ(row.maps.at("options").at("apply-after-lb"), "true");
    EXPECT_EQ(row.places, std::vector<Place>({{{"Port_Group", "web"}, "acls"}}));
  }
  EXPECT_THAT(changes.wanted[1].values.at("match").get<std::string>(),
              ::testing::EndsWith(" && ip && (ip4.dst == 10.0.0.0/8)"));
}

TEST(PolicyRowsTest, BlocksOfBothFamiliesWithExceptions) {
  EXPECT_EQ(MatchOf({.blocks = {{.network = Net("10.0.0.0/8"),
                                 .except = {Net("10.1.0.0/16"), Net("10.2.0.0/16")}},
                                {.network = Net("0.0.0.0/0"), .except = {}},
                                {.network = Net("::/0"), .except = {Net("fd00::/8")}}},
                     .any_port = true}),
            "outport == @GROUP(web) && ip && ((ip4.src == 10.0.0.0/8 && ip4.src != {10.1.0.0/16, "
            "10.2.0.0/16}) || ip4 || (ip6 && ip6.src != {fd00::/8}))");
}

TEST(PolicyRowsTest, PortsAndRanges) {
  EXPECT_EQ(MatchOf({.any_peer = true,
                     .ports = {{"tcp", 80, 80}, {"udp", 5000, 5010}, {"sctp", 0, UINT16_MAX}}}),
            "outport == @GROUP(web) && ip && (tcp.dst == 80 || (udp.dst >= 5000 && udp.dst <= "
            "5010) || sctp)");
}

TEST(PolicyRowsTest, ConnectionsOfTheOtherDirectionAreTracked) {
  PolicyRows rows("kuryr");
  const auto changes =
      rows.Take({{"team/p", CompiledPolicy{.subject = "web", .isolates_ingress = true}}});

  ASSERT_THAT(NamesOf(changes.wanted),
              ElementsAre("ACL isolated/ingress/web", "ACL tracked/isolated/ingress/web",
                          "Port_Group web"));
  EXPECT_EQ(changes.wanted[0].values.at("direction"), "to-lport");
  EXPECT_EQ(changes.wanted[1].values.at("direction"), "from-lport");
  EXPECT_EQ(changes.wanted[1].values.at("action"), "allow-related");
}

TEST(PolicyRowsTest, RowsOfSeveralPoliciesStayUntilTheLastOneIsGone) {
  PolicyRows rows("kuryr");
  const CompiledPolicy all = PolicyOf({.any_peer = true, .any_port = true});
  (void)rows.Take({{"team/p", all}, {"team/q", all}});

  EXPECT_THAT(NamesOf(rows.Take({{"team/p", std::nullopt}}).dropped),
              ElementsAre("ACL policy/team/p/0"));
  EXPECT_THAT(rows.PlacesIn({"web", "others"}), ElementsAre(Place{{"Port_Group", "web"}, "ports"}));
  EXPECT_THAT(NamesOf(rows.IsolationOf({"web"})), ElementsAre("ACL isolated/ingress/web"));
  EXPECT_THAT(NamesOf(rows.Take({{"team/q", std::nullopt}}).dropped),
              UnorderedElementsAre("ACL isolated/ingress/web", "ACL policy/team/q/0",
                                   "ACL tracked/isolated/ingress/web", "Port_Group web"));
  EXPECT_THAT(rows.PlacesIn({"web"}), IsEmpty());
}

TEST(PolicyRowsTest, RulesThatGoAreDropped) {
  PolicyRows rows("kuryr");
  CompiledPolicy policy = PolicyOf({.any_peer = true, .any_port = true});
  policy.rules.push_back({.subject = "web", .peers = {"a"}, .any_port = true});
  (void)rows.Take({{"team/p", policy}});
  policy.rules.pop_back();

  const auto changes = rows.Take({{"team/p", policy}});

  EXPECT_THAT(NamesOf(changes.dropped),
              UnorderedElementsAre("ACL policy/team/p/1", "Port_Group a"));
  EXPECT_THAT(NamesOf(changes.wanted), ::testing::Contains("ACL policy/team/p/0"));
}

TEST(PolicyRowsTest, ClustersHaveDifferentGroups) {
  const auto name = [](const char* cluster) {
    PolicyRows rows(cluster);
    return rows.Take({{"a/b", CompiledPolicy{.subject = "web"}}}).wanted.at(0).values.at("name");
  };

  EXPECT_NE(name("one"), name("two"));
  EXPECT_THAT(name("one").get<std::string>(), ::testing::MatchesRegex("kuryr_[0-9a-f]{32}"));
}

}  // namespace
}  // namespace kuryr::controller::ovn
