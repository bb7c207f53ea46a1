#include "controller/backends/pools/flat_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/backends/pools/pool_factory.h"
#include "tests/controller/backends/pools/backend_fixture.h"

namespace kuryr::controller::pools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

/// A flat pool and a routed one. Policy team/deny selects the set s.
class FlatPoliciesTest : public ::testing::Test {
 protected:
  static constexpr const char* kPools =
      "[node_network]\nenabled = true\n"
      "[pool:flat]\ncidr = 10.1.0.0/24\ndefault = true\n"
      "[pool:routed]\nfrom_node = true\nnamespaces = *\n";

  static policy::PolicyChanges Deny() {
    return {.policies = {{"team/deny", policy::CompiledPolicy{.subject = "s"}}},
            .pods = {},
            .errors = {}};
  }
  void Put(const std::string& pod, const std::set<std::string>& sets) {
    flat_.Enforce({.policies = {}, .pods = {{"uid-" + pod, sets}}, .errors = {}});
  }
  std::vector<std::string> Woken() { return std::exchange(woken_, {}); }

  std::vector<std::string> woken_;
  FlatPolicies flat_{[this](const std::string& policy) { woken_.push_back(policy); }};
};

TEST_F(FlatPoliciesTest, PolicyThatSelectsAFlatPodIsRefusedByItsPool) {
  flat_.Enforce(Deny());
  Put("a", {"s"});
  EXPECT_EQ(flat_.FindRefusal("team/deny"), std::nullopt);

  flat_.Set("uid-a", "blue");

  EXPECT_THAT(flat_.FindRefusal("team/deny"), Optional(HasSubstr("pool \"blue\": it is flat")));
  EXPECT_THAT(flat_.WhyNoneHolds("uid-a"), Optional(HasSubstr("pool \"blue\"")));
  EXPECT_THAT(Woken(), ElementsAre("team/deny"));
}

TEST_F(FlatPoliciesTest, PolicyWakesWhenALaterPodIsSelected) {
  flat_.Enforce(Deny());
  flat_.Set("uid-a", "blue");
  EXPECT_THAT(Woken(), IsEmpty());

  Put("a", {"other", "s"});

  EXPECT_THAT(Woken(), ElementsAre("team/deny"));
  EXPECT_TRUE(flat_.FindRefusal("team/deny"));
}

TEST_F(FlatPoliciesTest, PolicyHoldsWhenItsLastFlatPodIsGone) {
  flat_.Enforce(Deny());
  for (const char* pod : {"a", "b"}) {
    Put(pod, {"s"});
    flat_.Set(std::string("uid-") + pod, "blue");
  }

  Put("a", {});
  EXPECT_TRUE(flat_.FindRefusal("team/deny"));
  flat_.Remove("uid-b");
  EXPECT_EQ(flat_.FindRefusal("team/deny"), std::nullopt);
  EXPECT_EQ(flat_.WhyNoneHolds("uid-b"), std::nullopt);
}

TEST_F(FlatPoliciesTest, PolicyOfOtherInterfacesIsNotMeant) {
  policy::PolicyChanges changes = Deny();
  changes.policies["team/deny"]->networks = {"red"};
  flat_.Enforce(changes);
  Put("a", {"s"});
  flat_.Set("uid-a", "blue");

  EXPECT_EQ(flat_.FindRefusal("team/deny"), std::nullopt);
}

TEST_F(FlatPoliciesTest, BackendNotesThePoolOfEth0) {
  const PoolFactory factory(ReadPoolsOf(kPools), true);
  const auto backend = factory.Make({});
  const auto why_of = [&](const std::string& id) {
    return backend->facets().policies->WhyNoneHolds(id);
  };
  PlanRequest routed = RequestOf(Pod("b"), "routed");
  routed.node_networks = {Net("10.2.0.0/24")};

  const auto vifs = backend->Reserve(RequestOf(Pod("a"), "flat"));
  ASSERT_TRUE(backend->Reserve(routed));
  EXPECT_THAT(why_of("uid-a"), Optional(HasSubstr("pool \"flat\"")));
  EXPECT_EQ(why_of("uid-b"), std::nullopt);
  (void)backend->Release("uid-a");
  EXPECT_EQ(why_of("uid-a"), std::nullopt);
  backend->Adopt(Pod("a"), vifs.value());
  EXPECT_TRUE(why_of("uid-a"));
  backend->facets().interfaces->ReleaseBut(Pod("a"), {});
  EXPECT_EQ(why_of("uid-a"), std::nullopt);
}

TEST_F(FlatPoliciesTest, NodesEnforceInRoutedPoolsAlone) {
  const auto needs_of = [](const std::string& pools, bool node_policies) {
    return PoolFactory(ReadPoolsOf(pools), node_policies).needs();
  };
  const BackendNeeds mixed = needs_of(kPools, true);
  EXPECT_TRUE(mixed.node_policies);
  EXPECT_TRUE(mixed.policies && mixed.admin_policies);
  EXPECT_FALSE(needs_of(kPools, false).node_policies);
  EXPECT_FALSE(needs_of(kThree, true).node_policies);
  EXPECT_FALSE(needs_of(kThree, true).policies);
}

}  // namespace
}  // namespace kuryr::controller::pools
