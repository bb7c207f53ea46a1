#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "tests/controller/backends/neutron/security/isolation_fixture.h"

namespace kuryr::controller::neutron {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr const char* kSan = "san";

/// Pods with interface net1 in pool san, or in another subnet of the pods' network.
class AdditionalPortTest : public IsolationTest {
 protected:
  AdditionalPortTest() {
    defaults_.subnets = {FakeNeutron::kSubnet4};
    defaults_.pools = {{kSan, {.ids = {FakeNeutron::kSubnet6}, .all_namespaces = true}}};
    defaults_.any_subnet = true;
  }

  static PlanRequest RequestOn(const std::string& network, const Owner& owner = Pod("a")) {
    PlanRequest request = RequestOf(owner, {"net1"});
    request.interfaces.at(1).network = network;
    return request;
  }
  /// A MultiNetworkPolicy for san isolates pod a.
  static policy::PolicyChanges PolicyOnSan() {
    return {.policies = {{"MultiNetworkPolicy/team/p", IngressOf("web")}},
            .pods = {{"uid-a@san", {"web"}}}};
  }
  static policy::PolicyChanges NoPolicyOnSan() {
    return {.policies = {{"MultiNetworkPolicy/team/p", std::nullopt}}, .pods = {{"uid-a@san", {}}}};
  }

  /// Whether the backend that leads now has looked at pod a's ports, and changed what it would.
  bool IsTakenOver(const Vifs& vifs) {
    neutron_.SetAllActive();
    backend_->Adopt(Pod("a"), Written(vifs));
    return WaitUntilActive(Pod("a"), vifs);
  }

  /// Nodes' management ports are on another network.
  const std::set<std::string> isolated_there_ = {web_, fixed_.open_egress};
};

TEST_F(AdditionalPortTest, IsMadeWithTheGroupsOfItsNetwork) {
  StartWith(PolicyOnSan());
  const Vifs vifs = Reserve(RequestOn(kSan));
  EXPECT_THAT(GroupsOf(vifs.at(0)), ElementsAre(kOwn));
  EXPECT_EQ(GroupsOf(vifs.at(1)), isolated_there_);
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 0);
}

TEST_F(AdditionalPortTest, HasItsOwnGroupsOnAnotherNetwork) {
  StartWith(PolicyOnSan());
  for (const vif::PodVif& vif : Reserve(RequestOn(FakeNeutron::kSubnet4)))
    EXPECT_THAT(GroupsOf(vif), ElementsAre(kOwn)) << vif.ifname;
}

TEST_F(AdditionalPortTest, IsIsolatedByAnotherNameOfItsNetwork) {
  StartWith(PolicyOnSan());
  EXPECT_EQ(GroupsOf(Reserve(RequestOn(FakeNeutron::kSubnet6)).at(1)), isolated_there_);
}

TEST_F(AdditionalPortTest, IsIsolatedByASubnetOfItsPool) {
  StartWith({.policies = {{"MultiNetworkPolicy/team/p", IngressOf("web")}},
             .pods = {{std::string("uid-a@") + FakeNeutron::kSubnet6, {"web"}}}});
  EXPECT_EQ(GroupsOf(Reserve(RequestOn(kSan)).at(1)), isolated_there_);
}

TEST_F(AdditionalPortTest, IsIsolatedByAPolicyWhoseDefinitionIsNotKnown) {
  StartWith({.policies = {{"MultiNetworkPolicy/team/p", IngressOf("web")}},
             .pods = {{"uid-a@*", {"web"}}}});
  const Vifs vifs = Reserve(RequestOn(FakeNeutron::kSubnet4));
  EXPECT_THAT(GroupsOf(vifs.at(0)), ElementsAre(kOwn));
  EXPECT_EQ(GroupsOf(vifs.at(1)), isolated_there_);
}

TEST_F(AdditionalPortTest, OfAPeerIsInTheSetBesideItsOwnGroups) {
  StartWith({.policies = {{"MultiNetworkPolicy/team/p", IngressOf("web")}},
             .pods = {{"uid-b@san", {"friends"}}}});
  const Vifs vifs = Reserve(RequestOn(kSan, Pod("b")));
  EXPECT_THAT(GroupsOf(vifs.at(0)), ElementsAre(kOwn));
  EXPECT_THAT(GroupsOf(vifs.at(1)), UnorderedElementsAre(kOwn, friends_));
}

TEST_F(AdditionalPortTest, OfARunningPodFollowsItsPolicies) {
  StartWith();
  PlanRequest request = RequestOn(kSan);
  for (InterfaceRequest& interface : request.interfaces) interface.security_groups = {kNamed};
  const Vifs vifs = Run(request);
  backend_->Enforce(PolicyOnSan());
  EXPECT_TRUE(WaitForGroups(vifs.at(1), isolated_there_));
  EXPECT_THAT(GroupsOf(vifs.at(0)), ElementsAre(kNamed));
  backend_->Enforce(NoPolicyOnSan());
  EXPECT_TRUE(WaitForGroups(vifs.at(1), {kNamed}));
  EXPECT_TRUE(neutron_.WaitUntilGroups([](const auto& groups) { return groups.size() == 4; }));
}

TEST_F(AdditionalPortTest, StaysAsItIsWithTheNextController) {
  StartWith(PolicyOnSan());
  const Vifs vifs = Run(RequestOn(kSan));
  StartWith(PolicyOnSan());
  EXPECT_TRUE(IsTakenOver(vifs));
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 0);
  EXPECT_EQ(GroupsOf(vifs.at(1)), isolated_there_);
}

TEST_F(AdditionalPortTest, OfAnActivePlanGetsAPolicyThatCameWhileNobodyLed) {
  StartWith();
  const Vifs vifs = Run(RequestOn(kSan));
  StartWith(PolicyOnSan());
  backend_->Adopt(Pod("a"), Written(vifs, true));
  EXPECT_TRUE(WaitForGroups(vifs.at(1), isolated_there_));
}

TEST_F(AdditionalPortTest, StaysIsolatedThoughItsUserSwapsTheInterfacesOfThePlan) {
  StartWith(PolicyOnSan());
  Vifs vifs = Run(RequestOn(kSan));
  StartWith(PolicyOnSan());
  std::swap(vifs.at(0).ifname, vifs.at(1).ifname);
  EXPECT_TRUE(IsTakenOver(vifs));
  EXPECT_EQ(GroupsOf(vifs.at(1)), isolated_there_);
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 0);
}

TEST_F(AdditionalPortTest, OfAnotherPodStaysAsItIsThoughAPlanNamesIt) {
  StartWith();
  const Vifs others = Run(RequestOn(kSan, Pod("b")));
  policy::PolicyChanges changes = PolicyOnSan();
  changes.pods["uid-a"] = {"web"};
  StartWith(changes);
  const size_t asked = neutron_.CountOf("GetPort");
  backend_->Adopt(Pod("a"), Written(others, true));

  ASSERT_TRUE(neutron_.WaitForCount("GetPort", asked + 2));
  ASSERT_TRUE(neutron_.WaitForCount("ListPorts", neutron_.CountOf("ListPorts") + 2));
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 0);
  EXPECT_THAT(GroupsOf(others.at(0)), ElementsAre(kOwn));
}

TEST_F(AdditionalPortTest, WithoutGroupsStaysSoUntilAPolicyIsolatesIt) {
  StartWith();
  const Vifs vifs = Run(RequestOn(kSan));
  neutron_.Change(IdOf(vifs.at(1)), [](Port& port) { port.security_groups.clear(); });
  StartWith();
  EXPECT_TRUE(IsTakenOver(vifs));
  EXPECT_THAT(GroupsOf(vifs.at(1)), IsEmpty());
  backend_->Enforce(PolicyOnSan());
  EXPECT_TRUE(WaitForGroups(vifs.at(1), isolated_there_));
}

TEST_F(AdditionalPortTest, KeepsTheGroupsThatSomebodyGaveItInNeutron) {
  times_.look = std::chrono::milliseconds(50);
  StartWith();
  const Vifs vifs = Run(RequestOn(kSan));
  neutron_.Change(IdOf(vifs.at(1)), [](Port& port) { port.security_groups = {kNamed}; });
  ASSERT_TRUE(neutron_.WaitForCount("ListPorts", neutron_.CountOf("ListPorts") + 4));
  EXPECT_THAT(GroupsOf(vifs.at(1)), ElementsAre(kNamed));
  EXPECT_EQ(neutron_.CountOf("UpdatePort"), 0);
}

TEST_F(AdditionalPortTest, GetsItsGroupsThoughNeutronDoesNotChangeAnotherPort) {
  StartWith();
  const Vifs vifs = Run(RequestOn(kSan));
  policy::PolicyChanges changes = PolicyOnSan();
  changes.pods["uid-a"] = {"web"};
  neutron_.Fail("UpdatePort", {.retry_after = std::chrono::minutes(1)});
  backend_->Enforce(changes);
  EXPECT_TRUE(WaitForGroups(vifs.at(1), isolated_there_));
  EXPECT_THAT(GroupsOf(vifs.at(0)), ElementsAre(kOwn));
}

TEST_F(AdditionalPortTest, WaitsForARefusedGroupThatAnotherNetworkDoesNotNeed) {
  StartWith();
  ASSERT_TRUE(neutron_.WaitForCount("SetSecurityGroupTags", 4));
  neutron_.SetGroupQuota(4, 100);
  policy::PolicyChanges changes = PolicyOnSan();
  changes.pods["uid-b@san"] = {"web"};
  backend_->Enforce(changes);
  EXPECT_THAT(GroupsOf(Reserve(RequestOn(FakeNeutron::kSubnet4, Pod("b"))).at(1)),
              ElementsAre(kOwn));
  const Failure failure = Fail(RequestOn(kSan));
  EXPECT_EQ(failure.kind, Kind::kRetry);
  EXPECT_THAT(failure.text, HasSubstr("Quota"));
  neutron_.SetGroupQuota(100, 100);
  EXPECT_EQ(GroupsOf(ReserveAtLast(RequestOn(kSan)).at(1)), isolated_there_);
}

TEST_F(AdditionalPortTest, PoolGivesAReadyPortThatHasTheGroupsOfItsNetwork) {
  defaults_.pool = {.enabled = true, .least = 1};
  StartWith(PolicyOnSan());
  (void)Reserve(RequestOn(kSan, Pod("b")));
  ASSERT_TRUE(neutron_.WaitUntil([](const auto& ports) { return ports.size() > 3; }));
  EXPECT_EQ(GroupsOf(Reserve(RequestOn(kSan)).at(1)), isolated_there_);
}

}  // namespace
}  // namespace kuryr::controller::neutron
