#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "policy_fixture.h"

namespace kuryr::policy {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;

constexpr const char* kDeny = R"({"podSelector": {}})";
constexpr const char* kFromWeb =
    R"({"podSelector": {"matchLabels": {"app": "db"}},
        "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "web"}}}]}]})";

/// The definition team/storage names network san, and team/backup names network bak.
class MultiPolicyTest : public PolicyTest {
 protected:
  MultiPolicyTest() {
    Define("team/storage", "san");
    Define("team/backup", "bak");
  }

  void Define(const std::string& definition, const std::optional<std::string>& network) {
    cluster_.Apply(compiler_.SetDefinition(definition, network));
    cluster_.ExpectNamedSets();
  }
  /// The MultiNetworkPolicy team/p is for these definitions. Returns what is wrong with it.
  std::string SetFor(const json& networks, const std::string& spec) {
    const json object = {{"metadata", {{"annotations", {{kFor, networks}}}}},
                         {"spec", json::parse(spec)}};
    cluster_.Apply(compiler_.SetMultiPolicy("team", "p", object));
    cluster_.ExpectNamedSets();
    return Error();
  }
  [[nodiscard]] std::string Error() const { return cluster_.ErrorOf(kName); }

  /// Whether one pod may begin a connection with the other on the network; "": on eth0.
  [[nodiscard]] bool PassesOn(const std::string& network, const std::string& from,
                              const std::string& to, uint16_t port = 80) const {
    const auto end = [&](const std::string& uid) {
      return TrafficEnd{.uid = uid, .address = std::nullopt, .network = network};
    };
    const Traffic traffic{.from = end(from), .to = end(to), .protocol = "tcp", .port = port};
    return cluster_.MaySend(traffic) && cluster_.MayReceive(traffic);
  }

  static constexpr const char* kFor = "k8s.v1.cni.cncf.io/policy-for";
  static constexpr const char* kName = "MultiNetworkPolicy/team/p";
};

TEST_F(MultiPolicyTest, IsolatesOnItsNetworksAlone) {
  EXPECT_EQ(SetFor("storage", kDeny), "");

  EXPECT_FALSE(PassesOn("san", "team/web", "team/db"));
  EXPECT_TRUE(PassesOn("bak", "team/web", "team/db"));
  EXPECT_TRUE(PassesOn("", "team/web", "team/db"));
  EXPECT_TRUE(PassesOn("san", "team/web", "other/web"));
}

TEST_F(MultiPolicyTest, AllowsPeersOnItsNetworks) {
  SetFor("storage, backup", kFromWeb);

  for (const char* network : {"san", "bak"}) {
    EXPECT_TRUE(PassesOn(network, "team/web", "team/db"));
    EXPECT_FALSE(PassesOn(network, "other/web", "team/db"));
  }
}

TEST_F(MultiPolicyTest, PeerOnAnotherNetworkIsNone) {
  SetFor("storage", kFromWeb);
  const Traffic traffic{.from = {.uid = "team/web", .address = std::nullopt, .network = "bak"},
                        .to = {.uid = "team/db", .address = std::nullopt, .network = "san"},
                        .protocol = "tcp",
                        .port = 80};

  EXPECT_FALSE(cluster_.MayReceive(traffic));
}

TEST_F(MultiPolicyTest, NamesDefinitionsOfOtherNamespaces) {
  Define("infra/storage", "shared");
  SetFor("infra/storage", kDeny);

  EXPECT_FALSE(PassesOn("shared", "team/web", "team/db"));
  EXPECT_TRUE(PassesOn("san", "team/web", "team/db"));
}

TEST_F(MultiPolicyTest, DefinitionsOfOneNetworkAreOne) {
  Define("other/mine", "san");
  SetFor("storage", kFromWeb);
  cluster_.Apply(compiler_.SetMultiPolicy(
      "other", "q",
      {{"metadata", {{"annotations", {{kFor, "mine"}}}}}, {"spec", json::parse(kDeny)}}));

  EXPECT_FALSE(PassesOn("san", "team/web", "other/web"));
}

TEST_F(MultiPolicyTest, NamedPortIsLookedUp) {
  SetFor("storage", R"({"podSelector": {}, "ingress": [{"ports": [{"port": "sql"}]}]})");

  EXPECT_TRUE(PassesOn("san", "team/web", "team/db", 5432));
  EXPECT_FALSE(PassesOn("san", "team/web", "team/db", 80));
}

TEST_F(MultiPolicyTest, UnknownDefinitionIsolatesOnAllAdditionalNetworks) {
  const std::string error = SetFor("storage,typo", kFromWeb);

  EXPECT_THAT(error, HasSubstr("$.metadata.annotations['k8s.v1.cni.cncf.io/policy-for']"));
  EXPECT_THAT(error, HasSubstr("team/typo"));
  EXPECT_FALSE(PassesOn("bak", "team/web", "team/db"));
  EXPECT_TRUE(PassesOn("", "other/client", "team/db"));
}

TEST_F(MultiPolicyTest, UnknownDefinitionLeavesRulesOnKnownNetworks) {
  SetFor("storage,typo", kFromWeb);

  EXPECT_TRUE(PassesOn("san", "team/web", "team/db"));
  EXPECT_FALSE(PassesOn("san", "other/web", "team/db"));
}

TEST_F(MultiPolicyTest, DefinitionThatComesMendsThePolicy) {
  SetFor("late", kDeny);

  Define("team/late", "bak");

  EXPECT_EQ(Error(), "");
  EXPECT_FALSE(PassesOn("bak", "team/web", "team/db"));
  EXPECT_TRUE(PassesOn("san", "team/web", "team/db"));
}

TEST_F(MultiPolicyTest, DefinitionThatGoesOpensNothing) {
  SetFor("storage", kDeny);

  Define("team/storage", std::nullopt);

  EXPECT_NE(Error(), "");
  EXPECT_FALSE(PassesOn("san", "team/web", "team/db"));
}

TEST_F(MultiPolicyTest, DefinitionThatChangesMovesThePolicy) {
  SetFor("storage", kDeny);

  Define("team/storage", "bak");

  EXPECT_FALSE(PassesOn("bak", "team/web", "team/db"));
  EXPECT_TRUE(PassesOn("san", "team/web", "team/db"));
}

TEST_F(MultiPolicyTest, DefinitionOfAnotherPluginIsNoNetwork) {
  Define("team/macvlan", "");

  EXPECT_EQ(SetFor("macvlan", kDeny), "");

  EXPECT_TRUE(PassesOn("san", "team/web", "team/db"));
  EXPECT_TRUE(PassesOn("", "team/web", "team/db"));
}

TEST_F(MultiPolicyTest, DefinitionWhoseNetworkHasNoNameOfANetworkIsUnknown) {
  Define("team/odd", "san ns=team pods=");

  EXPECT_NE(SetFor("odd", kDeny), "");
}

TEST_F(MultiPolicyTest, AnnotationThatIsNotUnderstoodIsolatesOnAllAdditionalNetworks) {
  std::string many;
  for (int i = 0; i < 17; ++i) many += "n" + std::to_string(i) + ",";
  const json values[] = {nullptr, "", 7, "storage,,backup", "a/b/c", "Storage", many};
  for (const json& networks : values) {
    EXPECT_THAT(SetFor(networks, kDeny), HasSubstr("policy-for")) << networks;
    EXPECT_FALSE(PassesOn("san", "team/web", "team/db")) << networks;
    EXPECT_TRUE(PassesOn("", "team/web", "team/db")) << networks;
  }
}

TEST_F(MultiPolicyTest, FieldThatIsNotUnderstoodIsNamed) {
  EXPECT_THAT(SetFor("storage", R"({"podSelector": {}, "ingress": [{"ports": [{"port": 0}]}]})"),
              HasSubstr("$.spec.ingress[0].ports[0].port"));
}

TEST_F(MultiPolicyTest, PoliciesOfEth0AreNotForAdditionalNetworks) {
  Set(kDeny);
  const json denial = json::parse(R"({"spec": {"priority": 1, "subject": {"namespaces": {}},
      "ingress": [{"action": "Deny", "from": [{"namespaces": {}}]}]}})");
  cluster_.Apply(compiler_.SetAdminPolicy(kAdminPolicy, "all", denial));

  EXPECT_FALSE(PassesOn("", "team/web", "team/db"));
  EXPECT_TRUE(PassesOn("san", "team/web", "team/db"));
}

TEST_F(MultiPolicyTest, AdminsAllowanceIsNotForAdditionalNetworks) {
  const json allowance = json::parse(R"({"spec": {"priority": 1, "subject": {"namespaces": {}},
      "ingress": [{"action": "Allow", "from": [{"namespaces": {}}]}]}})");
  cluster_.Apply(compiler_.SetAdminPolicy(kAdminPolicy, "all", allowance));

  SetFor("storage", kDeny);

  EXPECT_FALSE(PassesOn("san", "team/web", "team/db"));
}

TEST_F(MultiPolicyTest, MembersOfItsNetworksAloneAreTold) {
  const json object = {{"metadata", {{"annotations", {{kFor, "storage"}}}}},
                       {"spec", json::parse(R"({"podSelector": {"matchLabels": {"app": "db"}}})")}};

  const PolicyChanges changes = compiler_.SetMultiPolicy("team", "p", object);

  EXPECT_THAT(changes.policies, ElementsAre(Key(kName)));
  EXPECT_THAT(changes.pods,
              ElementsAre(Pair("team/db@san", ElementsAre("on san ns=team pods=app=db"))));
}

TEST_F(MultiPolicyTest, LabelThatChangesTellsEachMemberOnce) {
  Set(R"({"podSelector": {"matchLabels": {"app": "db"}}})");
  SetFor("storage,backup", R"({"podSelector": {"matchLabels": {"app": "db"}}})");

  const PolicyChanges changes =
      compiler_.SetPod({.uid = "team/db", .name_space = "team", .labels = {}, .ports = {}});

  EXPECT_THAT(changes.pods, ElementsAre(Pair("team/db", IsEmpty()), Pair("team/db@bak", IsEmpty()),
                                        Pair("team/db@san", IsEmpty())));
}

TEST_F(MultiPolicyTest, ManyNetworksHaveAShortName) {
  std::string names;
  for (int i = 0; i < 16; ++i) {
    const std::string name = "network-with-a-long-name-" + std::to_string(i);
    Define("team/" + name, name);
    names += (names.empty() ? "" : ",") + name;
  }

  SetFor(names, kDeny);

  EXPECT_LT(cluster_.policy(kName).subject.size(), 80U);
  EXPECT_FALSE(PassesOn("network-with-a-long-name-7", "team/web", "team/db"));
}

TEST_F(MultiPolicyTest, PolicyThatGoesIsolatesNoMore) {
  SetFor("storage,typo", kDeny);

  cluster_.Apply(compiler_.RemoveMultiPolicy("team", "p"));

  EXPECT_TRUE(PassesOn("san", "team/web", "team/db"));
  EXPECT_THAT(cluster_.SetsOf("team/db@*"), IsEmpty());
}

}  // namespace
}  // namespace kuryr::policy
