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
policy::CompiledPolicy PolicyOf(policy::PolicyRule rule) {
  rule.subject = "web";
  for (const policy::AddressBlock& block : rule.blocks) {
    const std::vector<IpNetwork> networks = block.Networks();
    rule.networks.insert(rule.networks.end(), networks.begin(), networks.end());
  }
  return {.subject = "web", .isolates_ingress = true, .rules = {std::move(rule)}};
}

/// The matches of the rule's ACLs, a line each, with the port groups' names as GROUP(SET).
std::string MatchesOf(policy::PolicyRule rule) {
  PolicyRows rows("kuryr");
  const auto changes = rows.Take({{"team/p", PolicyOf(std::move(rule))}});
  std::string match;
  for (const WantedRow& row : changes.wanted) {
    if (!row.key.name.starts_with("policy/team/p/")) continue;
    match.append(match.empty() ? "" : "\n").append(row.values.at("match").get<std::string>());
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
  EXPECT_EQ(MatchesOf({.any_peer = true, .any_port = true}), "outport == @GROUP(web) && ip");
}

TEST(PolicyRowsTest, PodsAreAddressesOfTheirPortGroupsAndEachSetHasItsOwnRows) {
  EXPECT_EQ(MatchesOf({.peers = {"a", "b"}, .networks = {Net("10.0.0.0/8")}, .any_port = true}),
            "outport == @GROUP(web) && ip4.src == {10.0.0.0/8}\n"
            "outport == @GROUP(web) && ip4.src == {$GROUP(a)_ip4}\n"
            "outport == @GROUP(web) && ip4.src == {$GROUP(b)_ip4}\n"
            "outport == @GROUP(web) && ip6.src == {$GROUP(a)_ip6}\n"
            "outport == @GROUP(web) && ip6.src == {$GROUP(b)_ip6}");
}

TEST(PolicyRowsTest, WhatIsAllowedToOtherPodsHasAnotherPriority) {
  std::set<int> priorities;
  for (int i = 0; i < 1000; ++i) {
    const policy::PodSet set = "team-" + std::to_string(i);
    PolicyRows rows("kuryr");
    const auto changes = rows.Take(
        {{"team/p", policy::CompiledPolicy{
                        .subject = set, .rules = {{.subject = set, .networks = {Net("::/0")}}}}}});
    priorities.insert(changes.wanted.at(0).values.at("priority").get<int>());
  }
  EXPECT_GT(priorities.size(), 500U);
  EXPECT_GT(*priorities.begin(), kDropPriority);
  EXPECT_LT(*priorities.rbegin(), kAllowPriority + kAllowPriorities);
}

TEST(PolicyRowsTest, EgressIsOfTheSenderAfterItsLoadBalancer) {
  PolicyRows rows("kuryr");
  const auto changes =
      rows.Take({{"team/p", policy::CompiledPolicy{
                                .subject = "web",
                                .isolates_egress = true,
                                .rules = {{.direction = policy::TrafficDirection::kEgress,
                                           .subject = "web",
                                           .blocks = {{.network = Net("10.0.0.0/8"), .except = {}}},
                                           .networks = {Net("10.0.0.0/8")},
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
              ::testing::EndsWith(" && ip4.dst == {10.0.0.0/8}"));
}

TEST(PolicyRowsTest, BlocksAreNetworksWithoutExceptions) {
  EXPECT_EQ(MatchesOf({.blocks = {{.network = Net("10.0.0.0/8"),
                                   .except = {Net("10.128.0.0/9"), Net("10.64.0.0/11")}},
                                  {.network = Net("192.0.2.0/24"), .except = {}},
                                  {.network = Net("::/0"), .except = {}}},
                       .any_port = true}),
            "outport == @GROUP(web) && ip4.src == {10.0.0.0/10, 10.96.0.0/11, 192.0.2.0/24}\n"
            "outport == @GROUP(web) && ip6");
}

TEST(PolicyRowsTest, BlockOfExceptionsAloneAllowsNothing) {
  EXPECT_EQ(MatchesOf({.blocks = {{.network = Net("10.0.0.0/8"),
                                   .except = {Net("10.0.0.0/9"), Net("10.128.0.0/9")}}},
                       .any_port = true}),
            "");
}

TEST(PolicyRowsTest, PortsAndRangesOfEachProtocol) {
  EXPECT_EQ(MatchesOf({.any_peer = true,
                       .ports = {{"sctp", 0, UINT16_MAX},
                                 {"tcp", 80, 80},
                                 {"tcp", 1024, UINT16_MAX},
                                 {"udp", 5000, 5010}}}),
            "outport == @GROUP(web) && ip && sctp\n"
            "outport == @GROUP(web) && ip && tcp.dst == {80, 1024/64512, 2048/63488, 4096/61440, "
            "8192/57344, 16384/49152, 32768/32768}\n"
            "outport == @GROUP(web) && ip && udp.dst == {5000/65528, 5008/65534, 5010}");
}

TEST(PolicyRowsTest, PeersAndPortsAreNeverMultiplied) {
  policy::PolicyRule rule{
      .peers = {"a"}, .blocks = {}, .ports = {{"tcp", 80, 80}, {"udp", 53, 53}}};
  for (uint8_t i = 0; i < 100; ++i)
    rule.blocks.push_back({.network = Net("10.0." + std::to_string(i) + ".0/24"), .except = {}});

  const std::string matches = MatchesOf(rule);

  EXPECT_EQ(std::count(matches.begin(), matches.end(), '\n'), 5);
  EXPECT_THAT(matches, ::testing::Not(::testing::HasSubstr("||")));
  EXPECT_THAT(matches, ::testing::Not(::testing::HasSubstr("!=")));
}

TEST(PolicyRowsTest, ConnectionsOfTheOtherDirectionAreTracked) {
  PolicyRows rows("kuryr");
  const auto changes =
      rows.Take({{"team/p", policy::CompiledPolicy{.subject = "web", .isolates_ingress = true}}});

  ASSERT_THAT(NamesOf(changes.wanted),
              ElementsAre("ACL isolated/ingress/web", "ACL tracked/isolated/ingress/web",
                          "Port_Group web"));
  EXPECT_EQ(changes.wanted[0].values.at("direction"), "to-lport");
  EXPECT_EQ(changes.wanted[1].values.at("direction"), "from-lport");
  EXPECT_EQ(changes.wanted[1].values.at("action"), "allow-related");
}

TEST(PolicyRowsTest, RowsOfSeveralPoliciesStayUntilTheLastOneIsGone) {
  PolicyRows rows("kuryr");
  const policy::CompiledPolicy all = PolicyOf({.any_peer = true, .any_port = true});
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
  policy::CompiledPolicy policy = PolicyOf({.any_peer = true, .any_port = true});
  policy.rules.push_back({.subject = "web", .peers = {"a"}, .any_port = true});
  (void)rows.Take({{"team/p", policy}});
  policy.rules.pop_back();

  const auto changes = rows.Take({{"team/p", policy}});

  EXPECT_THAT(NamesOf(changes.dropped),
              UnorderedElementsAre("ACL policy/team/p/1", "ACL policy/team/p/2", "Port_Group a"));
  EXPECT_THAT(NamesOf(changes.wanted), ::testing::Contains("ACL policy/team/p/0"));
}

TEST(PolicyRowsTest, ClustersHaveDifferentGroups) {
  const auto name = [](const char* cluster) {
    PolicyRows rows(cluster);
    return rows.Take({{"a/b", policy::CompiledPolicy{.subject = "web"}}})
        .wanted.at(0)
        .values.at("name");
  };

  EXPECT_NE(name("one"), name("two"));
  EXPECT_THAT(name("one").get<std::string>(), ::testing::MatchesRegex("kuryr_[0-9a-f]{32}"));
}

}  // namespace
}  // namespace kuryr::controller::ovn
