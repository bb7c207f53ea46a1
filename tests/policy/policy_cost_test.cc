#include "policy/policy_compiler.h"

#include <gtest/gtest.h>

#include "big_cluster.h"

namespace kuryr::policy {
namespace {

/// 10,000 pods and 500 policies.
class PolicyCostTest : public ::testing::Test {
 protected:
  PolicyCostTest() {
    cluster_.Fill(compiler_, [](const PolicyChanges&) {});
  }

  /// How many comparisons the calls of `act` make.
  template <typename Act>
  uint64_t ComparisonsOf(const Act& act) {
    const uint64_t before = compiler_.comparisons();
    act();
    return compiler_.comparisons() - before;
  }

  const BigCluster cluster_;
  PolicyCompiler compiler_;
};

TEST_F(PolicyCostTest, ANewPodIsComparedWithTheSelectorsOfItsNamespace) {
  // A namespace has ten selectors of its own, and is of one team, which two selectors mean.
  EXPECT_EQ(ComparisonsOf([&] {
              const PolicyChanges changes =
                  compiler_.SetPod(BigCluster::Pod(0, cluster_.pods_of_each));
              EXPECT_TRUE(changes.policies.empty());
              EXPECT_EQ(changes.pods.size(), 1U);
            }),
            12U);
}

TEST_F(PolicyCostTest, AGonePodIsComparedWithNothing) {
  EXPECT_EQ(ComparisonsOf([&] { compiler_.RemovePod(BigCluster::UidOf(0, 0)); }), 0U);
}

TEST_F(PolicyCostTest, ANewSelectorIsComparedWithThePodsOfItsNamespace) {
  EXPECT_EQ(ComparisonsOf([&] {
              compiler_.SetPolicy("n0", "new",
                                  {{"spec", {{"podSelector", {{"matchLabels", {{"a", "b"}}}}}}}});
            }),
            cluster_.pods_of_each);
}

TEST_F(PolicyCostTest, APolicyOfKnownSelectorsIsComparedWithNothing) {
  EXPECT_EQ(ComparisonsOf([&] {
              const PolicyChanges changes = compiler_.SetPolicy("n0", "new", BigCluster::Policy(0));
              EXPECT_EQ(changes.policies.size(), 1U);
              EXPECT_TRUE(changes.pods.empty());
            }),
            0U);
}

TEST_F(PolicyCostTest, ANamespaceIsComparedWithWideSelectorsAndItsPodsWithThoseThatJoin) {
  // Ten selectors choose namespaces; two of them choose the new team.
  EXPECT_EQ(ComparisonsOf([&] { compiler_.SetNamespace("n0", {{"team", "1"}}); }),
            10U + 2 * cluster_.pods_of_each);
}

}  // namespace
}  // namespace kuryr::policy
