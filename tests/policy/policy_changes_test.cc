#include "policy/compilation.h"
#include "policy_fixture.h"

namespace kuryr::policy {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class PolicyChangesTest : public PolicyTest {
 protected:
  PolicyPod web_{.uid = "team/web",
                 .name_space = "team",
                 .labels = {{"app", "web"}, {"tier", "front"}},
                 .ports = {{.name = {.protocol = "tcp", .name = "http"}, .number = 8080}}};
};

TEST_F(PolicyChangesTest, OfWhatIsKnownAreNone) {
  const json object = json::parse(R"({"spec": {"ingress": [{"ports": [{"port": "http"}]}]}})");
  compiler_.SetPolicy("team", "p", object);
  EXPECT_EQ(compiler_.SetPolicy("team", "p", object), PolicyChanges());
  EXPECT_EQ(compiler_.SetPod(web_), PolicyChanges());
  EXPECT_EQ(compiler_.SetNamespace("team", {{"team", "a"}}), PolicyChanges());
}

TEST_F(PolicyChangesTest, OfARemovalThatIsRepeatedAreNone) {
  EXPECT_EQ(compiler_.RemovePolicy("team", "none"), PolicyChanges());
  EXPECT_EQ(compiler_.RemovePod("none"), PolicyChanges());
  EXPECT_EQ(compiler_.RemoveNamespace("none"), PolicyChanges());
}

TEST_F(PolicyChangesTest, OfANewPolicyHaveItAndTheMembersOfItsSets) {
  const PolicyChanges changes = compiler_.SetPolicy(
      "team", "p", json::parse(R"({"spec": {"podSelector": {"matchLabels": {"app": "web"}}}})"));
  EXPECT_THAT(changes.policies, ElementsAre(Key("team/p")));
  EXPECT_THAT(changes.pods, ElementsAre(Pair("team/web", ElementsAre("ns=team pods=app=web"))));
}

TEST_F(PolicyChangesTest, OfARemovedPolicyEmptyItsSets) {
  Set(R"({"podSelector": {"matchLabels": {"app": "web"}}})");
  const PolicyChanges changes = compiler_.RemovePolicy("team", "p");
  EXPECT_THAT(changes.policies, ElementsAre(Pair("team/p", std::nullopt)));
  EXPECT_THAT(changes.pods, ElementsAre(Pair("team/web", IsEmpty())));
}

TEST_F(PolicyChangesTest, OfAPolicyLeaveSetsThatAnotherNames) {
  Set(R"({"podSelector": {"matchLabels": {"app": "web"}}})");
  const PolicyChanges changes = compiler_.SetPolicy(
      "team", "q", json::parse(R"({"spec": {"podSelector": {"matchLabels": {"app": "web"}}}})"));
  EXPECT_THAT(changes.pods, IsEmpty());
  EXPECT_THAT(compiler_.RemovePolicy("team", "q").pods, IsEmpty());
}

TEST_F(PolicyChangesTest, OfNewLabelsAreOfThatPodAlone) {
  Set(R"({"podSelector": {"matchLabels": {"app": "web"}}})");
  web_.labels["other"] = "label";
  EXPECT_EQ(compiler_.SetPod(web_), PolicyChanges());
  web_.labels["app"] = "db";
  const PolicyChanges changes = compiler_.SetPod(web_);
  EXPECT_THAT(changes.policies, IsEmpty());
  EXPECT_THAT(changes.pods, ElementsAre(Pair("team/web", IsEmpty())));
}

TEST_F(PolicyChangesTest, OfANamespacesLabelsAreOfItsPods) {
  Set(R"({"ingress": [{"from": [{"namespaceSelector": {"matchLabels": {"team": "c"}},
                                 "podSelector": {"matchLabels": {"app": "web"}}}]}]})");
  EXPECT_FALSE(Passes("other/web", "team/db"));
  const PolicyChanges changes = compiler_.SetNamespace("other", {{"team", "c"}});
  EXPECT_THAT(changes.policies, IsEmpty());
  EXPECT_THAT(changes.pods, ElementsAre(Key("other/web")));
  cluster_.Apply(changes);
  EXPECT_TRUE(Passes("other/web", "team/db"));
  cluster_.Apply(compiler_.RemoveNamespace("other"));
  EXPECT_FALSE(Passes("other/web", "team/db"));
}

TEST_F(PolicyChangesTest, OfAPodOfAnUnknownNamespaceWaitForIt) {
  Set(R"({"ingress": [{"from": [{"namespaceSelector": {}}]}]})");
  AddPod("late/web", {}, {});
  EXPECT_FALSE(Passes("late/web", "team/db"));
  AddNamespace("late", {});
  EXPECT_TRUE(Passes("late/web", "team/db"));
}

TEST_F(PolicyChangesTest, OfANewNumberHaveThePolicyThatNamesThePort) {
  Set(R"({"ingress": [{"ports": [{"port": "http"}]}]})");
  web_.ports[0].number = 9090;
  const PolicyChanges changes = compiler_.SetPod(web_);
  EXPECT_THAT(changes.policies, ElementsAre(Key("team/p")));
  EXPECT_THAT(changes.pods,
              ElementsAre(Pair("team/web", UnorderedElementsAre("ns=team pods=",
                                                                "ns=team pods=|tcp/http=9090"))));
  cluster_.Apply(changes);
  EXPECT_TRUE(Passes("team/db", "team/web", 9090));
  EXPECT_FALSE(Passes("team/db", "team/web", 8080));
}

TEST_F(PolicyChangesTest, OfANumberThatAnotherPodHasAreOfThePodAlone) {
  Set(R"({"ingress": [{"ports": [{"port": "http"}]}]})");
  PolicyPod second = web_;
  second.uid = "team/second";
  const PolicyChanges changes = compiler_.SetPod(second);
  EXPECT_THAT(changes.policies, IsEmpty());
  EXPECT_THAT(changes.pods, ElementsAre(Key("team/second")));
  EXPECT_THAT(compiler_.RemovePod("team/second").policies, IsEmpty());
}

TEST_F(PolicyChangesTest, OfTheLastPodWithANumberHaveThePolicy) {
  Set(R"({"ingress": [{"ports": [{"port": "http"}]}]})");
  EXPECT_EQ(cluster_.policy("team/p").rules.size(), 1U);
  RemovePod("team/web");
  EXPECT_THAT(cluster_.policy("team/p").rules, IsEmpty());
}

TEST_F(PolicyChangesTest, OfMoreNumbersThanAPolicyMayHaveTellTheError) {
  constexpr size_t kPeers = 100;
  for (size_t i = 1; i <= Compilation::kMostBytes / kPeers / 32; ++i) {
    compiler_.SetPod({.uid = std::to_string(i),
                      .name_space = "team",
                      .labels = {{"app", "web"}},
                      .ports = {{{"tcp", "http"}, static_cast<uint16_t>(i)}}});
  }
  json spec = {{"ingress", {{{"from", json::array()}, {"ports", {{{"port", "http"}}}}}}}};
  for (size_t i = 0; i < kPeers; ++i) {
    spec["ingress"][0]["from"].push_back(
        {{"podSelector", {{"matchLabels", {{"app", std::to_string(i)}}}}}});
  }
  const PolicyChanges changes = compiler_.SetPolicy("team", "p", {{"spec", spec}});
  EXPECT_THAT(changes.errors, ElementsAre(Pair("team/p",
                                               "$.spec: its named ports have more numbers, or its "
                                               "nodes more addresses, than a policy may have")));
  EXPECT_THAT(changes.policies.at("team/p").value().rules, Not(IsEmpty()));
}

}  // namespace
}  // namespace kuryr::policy
