#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "controller/policy/policy_compiler.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr size_t kManyNamespaces = 50;
constexpr size_t kPodsOfEach = 200;
constexpr size_t kPoliciesOfEach = 10;

/// 10,000 pods and 500 policies. Each policy selects the pods of an application. It allows another
/// application of its namespace, and one of the namespaces of a team.
class PolicyCostTest : public ::testing::Test {
 protected:
  PolicyCostTest() {
    for (size_t i = 0; i < kManyNamespaces; ++i) {
      compiler_.SetNamespace(NameOf(i), {{"team", std::to_string(i % 5)}});
      for (size_t pod = 0; pod < kPodsOfEach; ++pod) compiler_.SetPod(Pod(i, pod));
      for (size_t policy = 0; policy < kPoliciesOfEach; ++policy)
        compiler_.SetPolicy(NameOf(i), std::to_string(policy), Policy(policy));
    }
  }

  static std::string NameOf(size_t i) { return "n" + std::to_string(i); }
  static std::string AppOf(size_t i) { return "app" + std::to_string(i); }
  static PolicyPod Pod(size_t name_space, size_t i) {
    return {.uid = NameOf(name_space) + "/" + std::to_string(i),
            .name_space = NameOf(name_space),
            .labels = {{"app", AppOf(i % kPoliciesOfEach)}},
            .ports = {{{"tcp", "http"}, static_cast<uint16_t>(8000 + i % 3)}}};
  }
  static json Selector(size_t app) { return {{"matchLabels", {{"app", AppOf(app)}}}}; }
  static json Policy(size_t i) {
    const json team = {{"matchLabels", {{"team", std::to_string(i % 5)}}}};
    const json peers = {{{"podSelector", Selector((i + 1) % kPoliciesOfEach)}},
                        {{"podSelector", Selector(i)}, {"namespaceSelector", team}}};
    return {{"spec",
             {{"podSelector", Selector(i)},
              {"ingress", {{{"from", peers}, {"ports", {{{"port", "http"}}}}}}}}}};
  }

  /// How many comparisons the calls of `act` make.
  template <typename Act>
  uint64_t ComparisonsOf(const Act& act) {
    const uint64_t before = compiler_.comparisons();
    act();
    return compiler_.comparisons() - before;
  }

  PolicyCompiler compiler_;
};

TEST_F(PolicyCostTest, ANewPodIsComparedWithTheSelectorsOfItsNamespace) {
  // A namespace has ten selectors of its own, and is of one team, which two selectors mean.
  EXPECT_EQ(ComparisonsOf([&] {
              const PolicyChanges changes = compiler_.SetPod(Pod(0, kPodsOfEach));
              EXPECT_TRUE(changes.policies.empty());
              EXPECT_EQ(changes.pods.size(), 1U);
            }),
            12U);
}

TEST_F(PolicyCostTest, AGonePodIsComparedWithNothing) {
  EXPECT_EQ(ComparisonsOf([&] { compiler_.RemovePod(Pod(0, 0).uid); }), 0U);
}

TEST_F(PolicyCostTest, ANewSelectorIsComparedWithThePodsOfItsNamespace) {
  EXPECT_EQ(ComparisonsOf([&] {
              compiler_.SetPolicy("n0", "new",
                                  {{"spec", {{"podSelector", {{"matchLabels", {{"a", "b"}}}}}}}});
            }),
            kPodsOfEach);
}

TEST_F(PolicyCostTest, APolicyOfKnownSelectorsIsComparedWithNothing) {
  EXPECT_EQ(ComparisonsOf([&] {
              const PolicyChanges changes = compiler_.SetPolicy("n0", "new", Policy(0));
              EXPECT_EQ(changes.policies.size(), 1U);
              EXPECT_TRUE(changes.pods.empty());
            }),
            0U);
}

TEST_F(PolicyCostTest, ANamespaceIsComparedWithWideSelectorsAndItsPodsWithThoseThatJoin) {
  // Ten selectors choose namespaces; two of them choose the new team.
  EXPECT_EQ(ComparisonsOf([&] { compiler_.SetNamespace("n0", {{"team", "1"}}); }),
            10U + 2 * kPodsOfEach);
}

}  // namespace
}  // namespace kuryr::controller
