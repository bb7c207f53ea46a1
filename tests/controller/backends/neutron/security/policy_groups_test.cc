#include "controller/backends/neutron/security/policy_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kuryr::controller::neutron {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr IpFamily k4 = IpFamily::kIpv4;
constexpr IpFamily k6 = IpFamily::kIpv6;

policy::CompiledPolicy Of(const policy::PolicyRule& rule) {
  policy::CompiledPolicy policy{.subject = "web", .rules = {rule}};
  policy.rules[0].subject = "web";
  policy.isolates_ingress = rule.direction == policy::TrafficDirection::kIngress;
  policy.isolates_egress = !policy.isolates_ingress;
  return policy;
}

IpNetwork Net(const std::string& text) { return IpNetwork::Parse(text).value(); }

class PolicyGroupsTest : public ::testing::Test {
 protected:
  PolicyGroups::Rules RulesOf(const policy::PolicyRule& rule) {
    groups_.Take({{"team/p", Of(rule)}});
    return *groups_.Find(GroupNameOf("web"));
  }

  PolicyGroups groups_;
};

TEST_F(PolicyGroupsTest, AnyPeerAndPortAreARuleOfEachFamily) {
  EXPECT_THAT(RulesOf({.any_peer = true, .any_port = true}),
              ElementsAre(SecurityRule{.is_ingress = true, .family = k4},
                          SecurityRule{.is_ingress = true, .family = k6}));
}

TEST_F(PolicyGroupsTest, PeersAreGroups) {
  const auto rules =
      RulesOf({.direction = policy::TrafficDirection::kEgress, .peers = {"db"}, .any_port = true});
  ASSERT_THAT(rules, SizeIs(2));
  for (const SecurityRule& rule : rules) {
    EXPECT_EQ(rule.remote_group, GroupNameOf("db"));
    EXPECT_FALSE(rule.is_ingress);
  }
  EXPECT_NE(groups_.Find(GroupNameOf("db")), nullptr);
}

TEST_F(PolicyGroupsTest, NetworksArePrefixes) {
  EXPECT_THAT(RulesOf({.networks = {Net("10.0.0.0/9"), Net("fd00::/8")}, .any_port = true}),
              UnorderedElementsAre(
                  SecurityRule{.is_ingress = true, .family = k4, .remote_net = Net("10.0.0.0/9")},
                  SecurityRule{.is_ingress = true, .family = k6, .remote_net = Net("fd00::/8")}));
}

TEST_F(PolicyGroupsTest, AllAddressesHaveNoPrefix) {
  EXPECT_THAT(RulesOf({.networks = {Net("0.0.0.0/0")}, .any_port = true}),
              ElementsAre(SecurityRule{.is_ingress = true, .family = k4}));
}

TEST_F(PolicyGroupsTest, RangesAreNeutronsAndAllPortsHaveNoNumbers) {
  const policy::PolicyRule rule = {
      .networks = {Net("0.0.0.0/0")},
      .ports = {{"tcp", 80, 90}, {"udp", 0, UINT16_MAX}, {"sctp", 7, 7}}};
  EXPECT_THAT(RulesOf(rule), UnorderedElementsAre(
                                 SecurityRule{.is_ingress = true,
                                              .family = k4,
                                              .protocol = "tcp",
                                              .first_port = 80,
                                              .last_port = 90},
                                 SecurityRule{.is_ingress = true, .family = k4, .protocol = "udp"},
                                 SecurityRule{.is_ingress = true,
                                              .family = k4,
                                              .protocol = "sctp",
                                              .first_port = 7,
                                              .last_port = 7}));
}

TEST_F(PolicyGroupsTest, EqualRulesOfTwoPoliciesAreOneUntilBothGo) {
  const policy::CompiledPolicy policy = Of({.any_peer = true, .any_port = true});
  groups_.Take({{"team/p", policy}, {"team/q", policy}});
  EXPECT_THAT(*groups_.Find(GroupNameOf("web")), SizeIs(2));
  groups_.Take({{"team/p", std::nullopt}});
  EXPECT_THAT(*groups_.Find(GroupNameOf("web")), SizeIs(2));
  const auto changes = groups_.Take({{"team/q", std::nullopt}});
  EXPECT_EQ(groups_.Find(GroupNameOf("web")), nullptr);
  EXPECT_THAT(changes.groups, ElementsAre(GroupNameOf("web")));
  EXPECT_THAT(changes.sets, ElementsAre("web"));
}

TEST_F(PolicyGroupsTest, PolicyThatIsAppliedAgainChangesNoIsolation) {
  const policy::CompiledPolicy policy = Of({.any_peer = true, .any_port = true});
  groups_.Take({{"team/p", policy}});
  EXPECT_THAT(groups_.Take({{"team/p", policy}}).sets, IsEmpty());
  EXPECT_THAT(groups_.PoliciesOf(GroupNameOf("web")), ElementsAre("team/p"));
}

TEST_F(PolicyGroupsTest, PodIsOpenInTheDirectionThatNoPolicyIsolates) {
  groups_.Take({{"team/p", Of({.any_peer = true, .any_port = true})}});
  const auto membership = groups_.Of({"web", "unknown"}, true);
  EXPECT_TRUE(membership.is_isolated());
  EXPECT_THAT(membership.groups,
              UnorderedElementsAre(GroupNameOf("web"), PolicyGroups::names().access,
                                   PolicyGroups::names().open_egress));
}

TEST_F(PolicyGroupsTest, NodesReachNoIsolatedPortWithoutAccess) {
  groups_.Take({{"team/p", Of({.any_peer = true, .any_port = true})}});
  EXPECT_THAT(groups_.Of({"web"}, false).groups,
              UnorderedElementsAre(GroupNameOf("web"), PolicyGroups::names().open_egress));
}

TEST_F(PolicyGroupsTest, LongNamesOfSetsThatDifferAtTheirEndsDiffer) {
  const std::string common(300, 'x');
  EXPECT_NE(GroupNameOf(common + "a"), GroupNameOf(common + "b"));
  EXPECT_LE(GroupNameOf(common).size(), 255U);
}

}  // namespace
}  // namespace kuryr::controller::neutron
