#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/controller/backends/neutron/security/isolation_fixture.h"

namespace kuryr::controller::neutron {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(IsolationTest, PodWithoutPoliciesHasTheGroupsOfTheConfiguration) {
  StartWith();
  EXPECT_THAT(GroupsOf(Reserve(Pod("a")).at(0)), ElementsAre(kOwn));
}

TEST_F(IsolationTest, PortOfANewPodIsMadeWithItsGroups) {
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  EXPECT_EQ(GroupsOf(Reserve(Pod("a")).at(0)), isolated_);
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 0);
}

TEST_F(IsolationTest, PeersKeepTheirOwnGroupsBesideTheSets) {
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-b", {"friends"}}}});
  EXPECT_THAT(GroupsOf(Reserve(Pod("b")).at(0)), UnorderedElementsAre(kOwn, friends_));
}

TEST_F(IsolationTest, GroupOfASetHasTheRulesOfItsPolicies) {
  StartWith({.policies = {{"team/p", IngressOf("web")}}});
  ASSERT_TRUE(neutron_.WaitForCount("CreateSecurityRules", 1));
  ASSERT_TRUE(neutron_.WaitUntilGroups([&](const auto& groups) {
    return std::any_of(groups.begin(), groups.end(), [&](const SecurityGroup& group) {
      return group.name == web_ && group.rules.size() == 2 && group.tags == defaults_.tags;
    });
  }));
  const SecurityGroup web = Find(web_).value();
  for (const ListedRule& listed : web.rules) {
    EXPECT_EQ(listed.rule, (SecurityRule{.is_ingress = true,
                                         .family = listed.rule.family,
                                         .protocol = "tcp",
                                         .first_port = 80,
                                         .last_port = 80,
                                         .remote_group = Find(friends_)->id}));
  }
  EXPECT_THAT(Find(friends_)->rules, IsEmpty());
}

TEST_F(IsolationTest, PolicyThatComesIsolatesARunningPod) {
  StartWith();
  Run(Pod("a"));
  backend_->Enforce({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  EXPECT_TRUE(WaitForGroups("uid-a", isolated_));
}

TEST_F(IsolationTest, SecondDirectionIsIsolatedToo) {
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  Run(Pod("a"));
  policy::CompiledPolicy both = IngressOf("web");
  both.isolates_egress = true;
  backend_->Enforce({.policies = {{"team/p", both}}});
  EXPECT_TRUE(WaitForGroups("uid-a", {web_, fixed_.access}));
}

TEST_F(IsolationTest, PortGetsNoGroupThatAnAdminsDefaultRulesOpen) {
  const SecurityRule open = {
      .is_ingress = true, .protocol = "tcp", .first_port = 22, .last_port = 22};
  neutron_.SetDefaultRule(open);
  StartWith();
  Run(Pod("a"));
  neutron_.Hold("UpdatePort");
  backend_->Enforce({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  ASSERT_TRUE(neutron_.WaitForHeld());

  for (const SecurityGroup& group : neutron_.groups()) {
    for (const ListedRule& listed : group.rules) EXPECT_NE(listed.rule, open) << group.name;
  }
}

TEST_F(IsolationTest, PortGetsNoGroupThatNeutronsOwnRulesOpen) {
  StartWith();
  Run(Pod("a"));
  ASSERT_TRUE(neutron_.WaitForCount("SetSecurityGroupTags", 4));
  neutron_.Hold("DeleteSecurityRule");
  backend_->Enforce({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  ASSERT_TRUE(neutron_.WaitForHeld());
  EXPECT_THAT(NamesOf("uid-a"), ElementsAre(kOwn));
  EXPECT_FALSE(backend_->Reserve(RequestOf(Pod("a"))));
  neutron_.LetGo();
  EXPECT_TRUE(WaitForGroups("uid-a", isolated_));
}

TEST_F(IsolationTest, PolicyThatGoesGivesThePodItsOwnGroupsAndLeavesNothing) {
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  Run(Pod("a"));
  backend_->Enforce({.policies = {{"team/p", std::nullopt}}, .pods = {{"uid-a", {}}}});
  EXPECT_TRUE(WaitForGroups("uid-a", {kOwn}));
  EXPECT_TRUE(neutron_.WaitUntilGroups([](const auto& groups) { return groups.size() == 4; }));
}

TEST_F(IsolationTest, RulesOfAChangedPolicyAreMadeBeforeOthersGo) {
  StartWith({.policies = {{"team/p", IngressOf("web")}}});
  ASSERT_TRUE(neutron_.WaitForCount("SetSecurityGroupTags", 6));
  policy::CompiledPolicy changed = IngressOf("web");
  changed.rules[0].ports = {{"udp", 53, 53}};
  neutron_.Hold("DeleteSecurityRule");
  backend_->Enforce({.policies = {{"team/p", changed}}});
  ASSERT_TRUE(neutron_.WaitForHeld());
  EXPECT_EQ(Find(web_)->rules.size(), 4);
  neutron_.LetGo();
  EXPECT_TRUE(neutron_.WaitUntilGroups([&](const auto& groups) {
    return std::any_of(groups.begin(), groups.end(), [&](const SecurityGroup& group) {
      return group.name == web_ && group.rules.size() == 2 &&
             group.rules.front().rule.protocol == "udp";
    });
  }));
}

TEST_F(IsolationTest, GroupOfManyRulesIsWrittenAFewAtATimeAndOthersAreNot) {
  const auto many_from = [](uint16_t first) {
    policy::CompiledPolicy policy = IngressOf("many");
    policy.rules[0].ports.clear();
    for (uint16_t port = first; port < first + 120; ++port)
      policy.rules[0].ports.push_back({"tcp", port, port});
    return policy;
  };
  const auto wait_for = [&](uint16_t first) {
    return neutron_.WaitUntilGroups([&](const auto& groups) {
      return std::any_of(groups.begin(), groups.end(), [&](const SecurityGroup& group) {
        const auto& rules = group.rules;
        return group.name == GroupNameOf("many") && rules.size() == 240 &&
               std::all_of(rules.begin(), rules.end(), [&](const ListedRule& rule) {
                 return rule.rule.first_port >= first && rule.rule.first_port < first + 120;
               });
      });
    });
  };
  StartWith({.policies = {{"busy/p", many_from(1000)}, {"team/p", IngressOf("web")}},
             .pods = {{"uid-a", {"web"}}}});
  Run(Pod("a"));
  EXPECT_THAT(NamesOf("uid-a"), ::testing::Contains(web_));
  EXPECT_TRUE(wait_for(1000));

  backend_->Enforce({.policies = {{"busy/p", many_from(5000)}}});
  EXPECT_TRUE(wait_for(5000)) << "those of before are gone, too";
}

TEST_F(IsolationTest, NewLabelsOfAPodChangeItsPortAlone) {
  StartWith({.policies = {{"team/p", IngressOf("web")}},
             .pods = {{"uid-a", {"web"}}, {"uid-b", {"web"}}}});
  Run(Pod("a"));
  Run(Pod("b"));
  backend_->Enforce({.policies = {}, .pods = {{"uid-b", {}}}});
  EXPECT_TRUE(WaitForGroups("uid-b", {kOwn}));
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 1);
}

TEST_F(IsolationTest, GroupsThatAPodNamesDoNotOpenIt) {
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  PlanRequest request = RequestOf(Pod("a"));
  request.interfaces[0].security_groups = {kNamed};
  const Vifs vifs = Reserve(request);
  EXPECT_EQ(GroupsOf(vifs.at(0)), isolated_);
  backend_->Adopt(Pod("a"), Written(vifs, true));
  backend_->Enforce({.policies = {{"team/p", std::nullopt}}, .pods = {{"uid-a", {}}}});
  EXPECT_TRUE(WaitForGroups("uid-a", {kNamed}));
}

TEST_F(IsolationTest, NetworkPoliciesIsolateNoAdditionalInterface) {
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  const Vifs vifs = Reserve(RequestOf(Pod("a"), {"net1"}));
  EXPECT_EQ(GroupsOf(vifs.at(0)), isolated_);
  EXPECT_THAT(GroupsOf(vifs.at(1)), ElementsAre(kOwn));
}

TEST_F(IsolationTest, DefaultRouteOfAnotherInterfaceTakesNoPolicyAway) {
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  PlanRequest request = RequestOf(Pod("a"), {"net1"});
  request.interfaces.at(0).is_default = false;
  request.interfaces.at(1).is_default = true;
  for (const vif::PodVif& vif : Reserve(request)) {
    const std::set<std::string> wanted =
        vif.ifname == "eth0" ? isolated_ : std::set<std::string>{kOwn};
    EXPECT_EQ(GroupsOf(vif), wanted) << vif.ifname;
  }
}

TEST_F(IsolationTest, NodesPortsReachIsolatedPods) {
  StartWith();
  const Owner node = {.id = "uid-n1", .name = "n1", .node = "n1"};
  Run(node);
  EXPECT_TRUE(WaitForGroups("uid-n1", {kOwn, fixed_.nodes}));
  ASSERT_TRUE(neutron_.WaitForCount("SetSecurityGroupTags", 4));
  const SecurityGroup access = Find(fixed_.access).value();
  for (const ListedRule& listed : access.rules)
    EXPECT_EQ(listed.rule.remote_group, Find(fixed_.nodes)->id);
}

TEST_F(IsolationTest, RuleThatSomebodyDeletesComesBack) {
  times_.look = std::chrono::milliseconds(50);
  StartWith({.policies = {{"team/p", IngressOf("web")}}});
  const auto has_rules = [&](const std::vector<SecurityGroup>& groups) {
    return std::any_of(groups.begin(), groups.end(), [&](const SecurityGroup& group) {
      // Neutron's own rules of a new group are two of egress.
      return group.name == web_ && group.rules.size() == 2 && group.rules.front().rule.is_ingress;
    });
  };
  ASSERT_TRUE(neutron_.WaitUntilGroups(has_rules));
  const std::string deleted = Find(web_)->rules.front().id;
  neutron_.DeleteSecurityRule(deleted);
  EXPECT_TRUE(neutron_.WaitUntilGroups(has_rules));
}

TEST_F(IsolationTest, RuleThatSomebodyAddsGoes) {
  times_.look = std::chrono::milliseconds(50);
  StartWith({.policies = {{"team/p", IngressOf("web")}}});
  ASSERT_TRUE(neutron_.WaitForCount("SetSecurityGroupTags", 6));
  (void)neutron_.CreateSecurityRules({{Find(web_)->id, {.is_ingress = true}}});
  EXPECT_TRUE(neutron_.WaitUntilGroups([&](const auto& groups) {
    return std::any_of(groups.begin(), groups.end(), [&](const SecurityGroup& group) {
      return group.name == web_ && group.rules.size() == 2;
    });
  }));
}

TEST_F(IsolationTest, NextControllerChangesNothingThatIsAsWanted) {
  const policy::PolicyChanges all = {.policies = {{"team/p", IngressOf("web")}},
                                     .pods = {{"uid-a", {"web"}}}};
  StartWith(all);
  const Vifs vifs = Run(Pod("a"));
  ASSERT_TRUE(neutron_.WaitForCount("SetSecurityGroupTags", 6));
  StartWith(all);
  backend_->Adopt(Pod("a"), Written(vifs, true));
  EXPECT_EQ(Reserve(Pod("b")).size(), 1);
  EXPECT_EQ(neutron_.CountOf("CreateSecurityGroup"), 6);
  EXPECT_EQ(neutron_.CountOf("CreateSecurityRules"), 3);
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 0);
  EXPECT_EQ(NamesOf("uid-a"), isolated_);
}

TEST_F(IsolationTest, PolicyThatCameWhileNobodyLedIsolates) {
  StartWith();
  const Vifs vifs = Run(Pod("a"));
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  ASSERT_TRUE(neutron_.WaitForCount("ListSecurityGroups", 2));
  backend_->Adopt(Pod("a"), Written(vifs, true));
  EXPECT_TRUE(WaitForGroups("uid-a", isolated_));
}

TEST_F(IsolationTest, PolicyThatWentWhileNobodyLedOpensAndLeavesNothing) {
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  const Vifs vifs = Run(Pod("a"));
  StartWith();
  backend_->Adopt(Pod("a"), Written(vifs, true));
  EXPECT_TRUE(WaitForGroups("uid-a", {kOwn}));
  EXPECT_TRUE(neutron_.WaitUntilGroups([](const auto& groups) { return groups.size() == 4; }));
}

TEST_F(IsolationTest, NoPortLeavesItsGroupsBeforeAllPeersHaveJoined) {
  constexpr int kPods = 12;
  StartWith({.policies = {{"team/p", IngressOf("web")}, {"team/q", IngressOf("friends")}}});
  ASSERT_TRUE(neutron_.WaitForCount("CreateSecurityRules", 2));
  std::map<std::string, std::set<policy::PodSet>> pods;
  for (int i = 0; i < kPods; ++i) {
    (void)Run(Pod("web" + std::to_string(i)));
    (void)Run(Pod("friend" + std::to_string(i)));
    pods["uid-web" + std::to_string(i)] = {"web"};
    pods["uid-friend" + std::to_string(i)] = {"friends"};
  }
  const std::string joined = Find(friends_).value().id;
  const auto count = [](const std::vector<Port>& ports, const std::string& group) {
    return std::count_if(ports.begin(), ports.end(), [&](const Port& port) {
      return std::count(port.security_groups.begin(), port.security_groups.end(), group) > 0;
    });
  };

  backend_->Enforce({.pods = pods});

  bool is_cut = false;
  EXPECT_TRUE(neutron_.WaitUntil([&](const std::vector<Port>& ports) {
    is_cut = is_cut || (count(ports, kOwn) < 2 * kPods && count(ports, joined) < kPods);
    return count(ports, kOwn) == 0;
  }));
  EXPECT_FALSE(is_cut);
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 3 * kPods);
}

TEST_F(IsolationTest, PeerThatNeutronDoesNotChangeHoldsUpNoOther) {
  StartWith();
  (void)Run(Pod("a"));
  (void)Run(Pod("b"));
  neutron_.Fail("UpdatePort", {});
  backend_->Enforce({.policies = {{"team/p", IngressOf("web")}},
                     .pods = {{"uid-a", {"web"}}, {"uid-b", {"friends"}}}});
  EXPECT_TRUE(WaitForGroups("uid-a", isolated_));
  EXPECT_TRUE(WaitForGroups("uid-b", {kOwn, friends_}));
}

TEST_F(IsolationTest, PodThatEndsWhileItsPeersJoinHoldsUpNoOther) {
  StartWith();
  (void)Run(Pod("a"));
  (void)Run(Pod("b"));
  neutron_.Hold("UpdatePort");
  backend_->Enforce({.policies = {{"team/p", IngressOf("web")}},
                     .pods = {{"uid-a", {"web"}}, {"uid-b", {"friends"}}}});
  ASSERT_TRUE(neutron_.WaitForHeld());
  (void)backend_->Release("uid-b");
  neutron_.LetGo();
  EXPECT_TRUE(WaitForGroups("uid-a", isolated_));
}

TEST_F(IsolationTest, NoPortChangesBeforeAllPlansAreAdopted) {
  StartWith();
  const Vifs vifs = Run(Pod("a"));
  Start();
  backend_->Enforce({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  backend_->Adopt(Pod("a"), Written(vifs, true));
  ASSERT_TRUE(neutron_.WaitForCount("ListSecurityGroups", 4));
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 0);
  backend_->EndAdoption();
  EXPECT_TRUE(WaitForGroups("uid-a", isolated_));
}

class FormerGroupsTest : public IsolationTest, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Releases, FormerGroupsTest,
                         ::testing::Values("Kuryr-Kubernetes Network Policy team/p SG",
                                           "Kuryr-Kubernetes NetPolicy SG"));

TEST_P(FormerGroupsTest, GiveWayToOurs) {
  const SecurityGroupRequest made = {.name = "sg/team-p", .description = GetParam()};
  const std::string former = neutron_.CreateSecurityGroup(made).id;
  neutron_.SetSecurityGroupTags(former, defaults_.tags);
  Start();
  const Vifs vifs = Reserve(Pod("a"));
  neutron_.Change(IdOf(vifs.at(0)), [&](Port& port) { port.security_groups = {former}; });
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  backend_->Adopt(Pod("a"), Written(vifs, true));
  EXPECT_TRUE(WaitForGroups("uid-a", isolated_));
  EXPECT_TRUE(neutron_.WaitForCount("DeleteSecurityGroup", 1));
  EXPECT_EQ(NameOf(former), former);
  backend_->Enforce({.policies = {{"team/p", std::nullopt}}, .pods = {{"uid-a", {}}}});
  EXPECT_TRUE(WaitForGroups("uid-a", {kOwn}));
}

TEST_F(IsolationTest, GroupWhosePostHadNoAnswerIsFound) {
  neutron_.Fail("CreateSecurityGroup", {.done = true});
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  EXPECT_EQ(GroupsOf(ReserveAtLast(RequestOf(Pod("a"))).at(0)), isolated_);
  EXPECT_EQ(neutron_.groups().size(), 6);
}

TEST_F(IsolationTest, PortThatNeutronDoesNotChangeIsTriedAgain) {
  StartWith();
  Run(Pod("a"));
  neutron_.Fail("UpdatePort", {});
  backend_->Enforce({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  EXPECT_TRUE(WaitForGroups("uid-a", isolated_));
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 2);
}

TEST_F(IsolationTest, RulesBeyondTheQuotaAreToldAndIsolateNevertheless) {
  neutron_.SetGroupQuota(100, 30);
  policy::CompiledPolicy large = IngressOf("web");
  for (uint16_t port = 1; port < 20; ++port) large.rules[0].ports.push_back({"udp", port, port});
  StartWith({.policies = {{"team/large", large}, {"team/small", IngressOf("db")}},
             .pods = {{"uid-a", {"web"}}, {"uid-b", {"db"}}}});
  EXPECT_EQ(GroupsOf(Reserve(Pod("a")).at(0)), isolated_);
  EXPECT_THAT(GroupsOf(Reserve(Pod("b")).at(0)), Contains(GroupNameOf("db")));
  EXPECT_THAT(backend_->FindRefusal("team/large").value_or(""), HasSubstr("Quota"));
  EXPECT_EQ(backend_->FindRefusal("team/small"), std::nullopt);
  EXPECT_EQ(Find(GroupNameOf("db"))->rules.size(), 2);
}

TEST_F(IsolationTest, PodWhoseGroupIsBeyondTheQuotaWaitsAndOthersDoNot) {
  StartWith();
  ASSERT_TRUE(neutron_.WaitForCount("SetSecurityGroupTags", 4));
  neutron_.SetGroupQuota(4, 100);
  backend_->Enforce({.policies = {{"team/p", IngressOf("web")}},
                     .pods = {{"uid-a", {"web"}}, {"uid-b", {"friends"}}}});
  const Failure failure = Fail(RequestOf(Pod("a")));
  EXPECT_EQ(failure.kind, Kind::kRetry);
  EXPECT_THAT(failure.text, HasSubstr("Quota"));
  EXPECT_THAT(GroupsOf(Reserve(Pod("b")).at(0)), ElementsAre(kOwn));
  neutron_.SetGroupQuota(100, 100);
  EXPECT_EQ(GroupsOf(ReserveAtLast(RequestOf(Pod("a"))).at(0)), isolated_);
  EXPECT_TRUE(WaitForGroups("uid-b", {kOwn, friends_}));
}

TEST_F(IsolationTest, ReadyPortGetsTheGroupsInTheRequestThatGivesItToThePod) {
  defaults_.pool = {.enabled = true, .least = 1};
  StartWith({.policies = {{"team/p", IngressOf("web")}}, .pods = {{"uid-a", {"web"}}}});
  (void)Reserve(Pod("b"));
  ASSERT_TRUE(neutron_.WaitUntil([](const auto& ports) { return ports.size() > 1; }));
  const Vifs vifs = Reserve(Pod("a"));
  EXPECT_EQ(GroupsOf(vifs.at(0)), isolated_);
  EXPECT_LE(neutron_.CountOf("UpdatePort"), 1);
}

}  // namespace
}  // namespace kuryr::controller::neutron
