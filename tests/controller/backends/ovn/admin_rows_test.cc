#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "policy/policy_compiler.h"
#include "tests/controller/backends/ovn/acl_judge.h"
#include "tests/policy/random_policy.h"
#include "tests/support/environment.h"

namespace kuryr::controller::ovn {
namespace {

using nlohmann::json;

constexpr size_t kNamespaces = 3;
constexpr size_t kPods = 9;
constexpr size_t kPolicies = 6;
constexpr size_t kAdmins = 7;

/// Policies of all tiers as rows, beside what they say.
class AdminRowsTest : public ::testing::Test {
 protected:
  AdminRowsTest() {
    for (size_t i = 0; i < kNamespaces; ++i)
      Apply(compiler_.SetNamespace(NameOf(i), LabelsFrom(random_.NamespaceLabels())));
    for (size_t i = 0; i < kPods; ++i) {
      judge_.SetPod(std::to_string(i), AddressOf(i));
      SetPod(i);
    }
  }

  static std::string NameOf(size_t name_space) { return "n" + std::to_string(name_space); }
  static std::string AddressOf(size_t pod) {
    return "10." + std::to_string(pod % 3) + ".2." + std::to_string(pod);
  }
  static policy::Labels LabelsFrom(const json& object) {
    policy::Labels labels;
    for (const auto& [key, value] : object.items()) labels.emplace(key, value);
    return labels;
  }
  void Apply(const policy::PolicyChanges& changes) {
    verdicts_.Apply(changes);
    judge_.Apply(rows_.Take(changes.policies, changes.pods));
    for (const auto& [uid, sets] : changes.pods) judge_.SetSets(uid, sets);
  }
  void SetPod(size_t i) {
    policy::PolicyPod pod = policy::PolicyPodOf({{"metadata",
                                                  {{"uid", std::to_string(i)},
                                                   {"namespace", NameOf(i % kNamespaces)},
                                                   {"labels", random_.PodLabels()}}},
                                                 {"spec", {{"containers", random_.Containers()}}}})
                                .value();
    Apply(compiler_.SetPod(std::move(pod)));
  }
  void SetPolicy(const std::string& name, const json& spec) {
    Apply(compiler_.SetPolicy("n0", name, {{"spec", spec}}));
  }
  void SetAdmin(const std::string& name, const json& spec) {
    Apply(compiler_.SetAdminPolicy(policy::kAdminPolicy, name, {{"spec", spec}}));
  }
  static const policy::AdminKind& KindOf(size_t i) {
    if (i == 0) return policy::kBaselinePolicy;
    return i < 3 ? policy::kAdminPolicy : policy::kClusterPolicy;
  }
  /// The subject of a namespace's pods.
  json OnlyOf(const std::string& name_space) {
    for (const char* name : {"n0", "n1"})
      Apply(compiler_.SetNamespace(name, {{"kubernetes.io/metadata.name", name}}));
    return {{"namespaces", {{"matchLabels", {{"kubernetes.io/metadata.name", name_space}}}}}};
  }
  void ChangeSomething() {
    const size_t i = random_.Number(kAdmins);
    const policy::AdminKind& kind = KindOf(i);
    const size_t policy = random_.Number(kPolicies);
    switch (random_.Number(7)) {
      case 0:
        return Apply(compiler_.RemoveAdminPolicy(kind, std::to_string(i)));
      case 1:
        return Apply(compiler_.RemovePolicy(NameOf(policy % kNamespaces), std::to_string(policy)));
      case 2:
        return SetPod(random_.Number(kPods));
      case 3:
        return Apply(compiler_.SetPolicy(NameOf(policy % kNamespaces), std::to_string(policy),
                                         {{"spec", random_.Spec()}}));
      case 4:
        return Apply(compiler_.SetNode("node" + std::to_string(i % 2),
                                       {.labels = LabelsFrom(random_.NodeLabels()),
                                        .addresses = {{End(i).address.value(), 32}}}));
      default:
        return Apply(compiler_.SetAdminPolicy(kind, std::to_string(i),
                                              {{"spec", random_.AdminSpec(kind.kind)}}));
    }
  }
  void ExpectNoDifference() {
    for (size_t from = 0; from < kPods; ++from) {
      for (size_t to = 0; to < kPods; ++to) {
        for (const char* protocol : {"tcp", "udp", "icmp4"}) {
          for (const uint16_t port : std::initializer_list<uint16_t>{53, 80, 8080}) {
            const policy::Traffic traffic{
                .from = End(from), .to = End(to), .protocol = protocol, .port = port};
            ASSERT_EQ(judge_.MaySend(traffic), verdicts_.OnSending(traffic).is_allowed())
                << from << " sends to " << to << " " << protocol << port;
            ASSERT_EQ(judge_.MayReceive(traffic), verdicts_.OnReceiving(traffic).is_allowed())
                << to << " receives from " << from << " " << protocol << port;
          }
        }
      }
    }
  }
  static policy::TrafficEnd End(size_t pod) {
    return {.uid = std::to_string(pod), .address = IpAddress::Parse(AddressOf(pod))};
  }

  policy::RandomPolicy random_{static_cast<unsigned>(test::FromEnvironment("KURYR_SEED", 1))};
  policy::PolicyCompiler compiler_;
  policy::PolicyVerdicts verdicts_;
  PolicyRows rows_{"kuryr"};
  AclJudge judge_;
};

TEST_F(AdminRowsTest, SayWhatPoliciesOfAllTiersSay) {
  const int rounds = test::FromEnvironment("KURYR_POLICY_CHANGES", 25);
  for (int i = 0; i < rounds && !HasFatalFailure(); ++i) {
    ChangeSomething();
    ExpectNoDifference();
  }
}

TEST_F(AdminRowsTest, PassRepeatsNoRowsOfOtherPods) {
  const json all = {{"namespaces", json::object()}};
  SetAdmin("pass", {{"priority", 1},
                    {"subject", OnlyOf("n1")},
                    {"ingress", {{{"action", "Pass"}, {"from", {all}}}}}});
  const auto repeated = [&] {
    return std::count_if(judge_.rows().begin(), judge_.rows().end(), [](const auto& row) {
      return row.first.name.find("/AdminNetworkPolicy/pass/") != std::string::npos;
    });
  };
  SetPolicy("p", {{"podSelector", json::object()}});
  EXPECT_EQ(repeated(), 0) << "n0's rows";
  ExpectNoDifference();

  Apply(compiler_.SetNamespace("n0", {{"kubernetes.io/metadata.name", "n1"}}));
  EXPECT_GT(repeated(), 0) << "now the rule is for n0's pods, too";
  ExpectNoDifference();

  Apply(compiler_.SetNamespace("n0", {{"kubernetes.io/metadata.name", "n0"}}));
  EXPECT_EQ(repeated(), 0);
  ExpectNoDifference();
}

TEST_F(AdminRowsTest, TenRulesThatPassOnRepeatNoneOfThousandsOfAnotherNamespace) {
  constexpr int kTenantsPolicies = 20;
  constexpr int kPeers = 90;
  for (int policy = 0; policy < kTenantsPolicies; ++policy) {
    json peers = json::array();
    for (int peer = 0; peer < kPeers; ++peer)
      peers.push_back({{"podSelector", {{"matchLabels", {{"peer", std::to_string(peer)}}}}}});
    SetPolicy(std::to_string(policy),
              {{"podSelector", json::object()}, {"ingress", {{{"from", peers}}}}});
  }
  const json subject = OnlyOf("n1");
  const size_t before = judge_.rows().size();
  EXPECT_GT(before, kTenantsPolicies * kPeers * 2U) << "one of each family";
  json rules = json::array();
  for (int rule = 0; rule < 10; ++rule)
    rules.push_back({{"action", "Pass"}, {"from", {{{"namespaces", json::object()}}}}});
  SetAdmin("pass", {{"priority", 1}, {"subject", subject}, {"ingress", rules}});

  EXPECT_LT(judge_.rows().size(), before + 50);
}

TEST_F(AdminRowsTest, PassNothingOnToMultiNetworkPolicies) {
  const json all = {{"namespaces", json::object()}};
  SetAdmin(
      "pass",
      {{"priority", 1}, {"subject", all}, {"ingress", {{{"action", "Pass"}, {"from", {all}}}}}});
  const size_t before = judge_.rows().size();
  Apply(compiler_.SetDefinition("n0/storage", "san"));
  Apply(compiler_.SetMultiPolicy(
      "n0", "p",
      {{"metadata", {{"annotations", {{"k8s.v1.cni.cncf.io/policy-for", "storage"}}}}},
       {"spec", {{"podSelector", json::object()}, {"ingress", {json::object()}}}}}));

  constexpr size_t kGroupDropTrackAndRule = 4;
  EXPECT_EQ(judge_.rows().size(), before + kGroupDropTrackAndRule);
}

TEST_F(AdminRowsTest, WithoutPoliciesNoRowIsLeft) {
  const json all = {{"namespaces", json::object()}};
  SetAdmin(
      "pass",
      {{"priority", 1}, {"subject", all}, {"ingress", {{{"action", "Pass"}, {"from", {all}}}}}});
  SetPolicy("p", {{"podSelector", json::object()}});
  Apply(compiler_.RemoveAdminPolicy(policy::kAdminPolicy, "pass"));
  Apply(compiler_.RemovePolicy("n0", "p"));

  EXPECT_TRUE(judge_.rows().empty());
}

/// Rules that alternate take most priorities; 30,000 are too many for objects of a test.
TEST_F(AdminRowsTest, RulesBeyondTheLastPriorityFailClosed) {
  std::map<std::string, policy::CompiledPolicy> policies;
  policy::CompiledPolicy& policy = policies["AdminNetworkPolicy/long"];
  policy = {.subject = "all", .rules = {}, .tier = policy::PolicyTier::kAdmin};
  for (int i = 0; i < 40'000; ++i) {
    policy::PolicyRule rule{.subject = "all"};
    rule.action = i % 2 == 0 ? policy::PolicyAction::kAllow : policy::PolicyAction::kPass;
    policy.rules.push_back(rule);
  }
  const AdminLadder ladder(policies);

  int last = kNodePriority;
  for (const AdminRule& rule : ladder.rules()) {
    EXPECT_LE(rule.priority, last);
    EXPECT_GT(rule.priority, kAllowPriority);
    last = rule.priority;
  }
  EXPECT_EQ(ladder.rules().back().rule.action, policy::PolicyAction::kDeny);
}

}  // namespace
}  // namespace kuryr::controller::ovn
