#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "api_words.h"
#include "compiled_cluster.h"
#include "policy/policy_compiler.h"
#include "random_policy.h"
#include "tests/support/environment.h"

namespace kuryr::policy {
namespace {

using nlohmann::json;

constexpr size_t kPods = 12;
constexpr size_t kNamespaces = 4;
constexpr size_t kPolicies = 10;  ///< at a time, at most
constexpr size_t kNodes = 3;
constexpr size_t kAdmins = 7;

struct Protocol {
  const char* compiled;  ///< the compiler's word for the protocol
  const char* api;       ///< the API's word
  int port;
};

/// Four namespaces with three pods each: all may come, go and change.
class RandomPoliciesTest : public ::testing::Test {
 protected:
  RandomPoliciesTest() {
    for (size_t i = 0; i < kNamespaces; ++i) SetNamespace(i);
    for (size_t i = 0; i < kPods; ++i) SetPod(i);
  }

  static std::string NameOf(size_t name_space) { return "n" + std::to_string(name_space); }
  static constexpr std::array<const char*, 3> kNetworks = {"", "san", "bak"};
  /// On kNetworks[network].
  static std::string AddressOf(size_t pod, size_t network = 0) {
    if (network > 0) return "10.1." + std::to_string(3 + network) + "." + std::to_string(pod);
    return "10." + std::to_string(pod % 3) + "." + std::to_string(pod % kNamespaces) + "." +
           std::to_string(pod);
  }

  void SetNamespace(size_t i) {
    const json object = {{"metadata", {{"labels", random_.NamespaceLabels()}}}};
    objects_.namespaces[NameOf(i)] = object;
    cluster_.Apply(compiler_.SetNamespace(NameOf(i), LabelsOf(object)));
  }
  void RemoveNamespace(size_t i) {
    objects_.namespaces.erase(NameOf(i));
    cluster_.Apply(compiler_.RemoveNamespace(NameOf(i)));
  }
  void SetPod(size_t i) {
    const std::string uid = std::to_string(i);
    const json object = {
        {"metadata",
         {{"uid", uid}, {"namespace", NameOf(i % kNamespaces)}, {"labels", random_.PodLabels()}}},
        {"spec", {{"containers", random_.Containers()}}},
        {"status",
         {{"podIP", AddressOf(i)},
          {"networks", {{"san", AddressOf(i, 1)}, {"bak", AddressOf(i, 2)}}}}}};
    objects_.pods[uid] = object;
    cluster_.Apply(compiler_.SetPod(PolicyPodOf(object).value()));
  }
  void RemovePod(size_t i) {
    objects_.pods.erase(std::to_string(i));
    cluster_.Apply(compiler_.RemovePod(std::to_string(i)));
  }
  void SetPolicy(size_t i) {
    const std::string name_space = NameOf(i % kNamespaces);
    const std::string name = std::to_string(i);
    const json object = {{"metadata", {{"namespace", name_space}}}, {"spec", random_.Spec()}};
    objects_.policies[name_space + "/" + name] = object;
    const PolicyChanges changes = compiler_.SetPolicy(name_space, name, object);
    EXPECT_TRUE(changes.errors.empty()) << object;
    cluster_.Apply(changes);
  }
  void SetMulti(size_t i) {
    const std::string name_space = NameOf(i % kNamespaces);
    const std::string name = std::to_string(i);
    const json object = {
        {"metadata",
         {{"namespace", name_space},
          {"annotations", {{"k8s.v1.cni.cncf.io/policy-for", random_.DefinitionNames()}}}}},
        {"spec", random_.Spec()}};
    objects_.multis[name_space + "/" + name] = object;
    cluster_.Apply(compiler_.SetMultiPolicy(name_space, name, object));
  }
  void RemoveMulti(size_t i) {
    const std::string name_space = NameOf(i % kNamespaces);
    objects_.multis.erase(name_space + "/" + std::to_string(i));
    cluster_.Apply(compiler_.RemoveMultiPolicy(name_space, std::to_string(i)));
  }
  void ChangeDefinition() {
    const std::string name =
        NameOf(random_.Number(kNamespaces)) + "/" + random_.OneOf<const char*>({"a", "b"});
    if (random_.Chance(30)) {
      objects_.definitions.erase(name);
      cluster_.Apply(compiler_.SetDefinition(name, std::nullopt));
      return;
    }
    const std::string network = random_.OneOf<const char*>({"san", "san", "bak", ""});
    objects_.definitions[name] = network;
    cluster_.Apply(compiler_.SetDefinition(name, network));
  }
  void ChangeMultis() {
    if (random_.Chance(30)) return ChangeDefinition();
    if (random_.Chance(70)) return SetMulti(random_.Number(kPolicies));
    RemoveMulti(random_.Number(kPolicies));
  }
  void SetAdmin(size_t i) {
    const AdminKind& kind = KindOf(i);
    const std::string name = std::to_string(i);
    const json object = {{"kind", kind.kind}, {"spec", random_.AdminSpec(kind.kind)}};
    objects_.admins[AdminPolicyKey(kind, name)] = object;
    const PolicyChanges changes = compiler_.SetAdminPolicy(kind, name, object);
    EXPECT_TRUE(changes.errors.empty()) << object << json(changes.errors);
    cluster_.Apply(changes);
  }
  void RemoveAdmin(size_t i) {
    objects_.admins.erase(AdminPolicyKey(KindOf(i), std::to_string(i)));
    cluster_.Apply(compiler_.RemoveAdminPolicy(KindOf(i), std::to_string(i)));
  }
  static const AdminKind& KindOf(size_t i) {
    if (i == 0) return kBaselinePolicy;
    return i < 3 ? kAdminPolicy : kClusterPolicy;
  }
  /// Its addresses are those of two pods.
  void ChangeNode(size_t i) {
    const std::string name = "node" + std::to_string(i);
    if (random_.Chance(30)) {
      objects_.nodes.erase(name);
      cluster_.Apply(compiler_.RemoveNode(name));
      return;
    }
    json object = {{"metadata", {{"labels", random_.NodeLabels()}}}};
    for (int own = 0; own < 2; ++own)
      object["status"]["addresses"].push_back(
          {{"type", "InternalIP"}, {"address", AddressOf(random_.Number(kPods))}});
    objects_.nodes[name] = object;
    cluster_.Apply(compiler_.SetNode(name, PolicyNodeOf(object)));
  }
  void ChangeAdmins() {
    if (random_.Chance(20)) return ChangeNode(random_.Number(kNodes));
    if (random_.Chance(60)) return SetAdmin(random_.Number(kAdmins));
    RemoveAdmin(random_.Number(kAdmins));
  }
  void RemovePolicy(size_t i) {
    const std::string name_space = NameOf(i % kNamespaces);
    objects_.policies.erase(name_space + "/" + std::to_string(i));
    cluster_.Apply(compiler_.RemovePolicy(name_space, std::to_string(i)));
  }

  void ChangeSomething() {
    if (random_.Chance(25)) return RemovePolicy(random_.Number(kPolicies));
    if (random_.Chance(40)) return SetPod(random_.Number(kPods));
    if (random_.Chance(40)) return RemovePod(random_.Number(kPods));
    if (random_.Chance(85)) return SetNamespace(random_.Number(kNamespaces));
    RemoveNamespace(random_.Number(kNamespaces));
  }

  /// Every pair of pods, and each pod with an address that no pod has.
  void ExpectNoDifference(size_t network = 0) {
    std::vector<TrafficEnd> peers = {
        {.uid = "", .address = IpAddress::Parse("192.0.2.1"), .network = kNetworks.at(network)}};
    for (const auto& [uid, pod] : objects_.pods) {
      peers.push_back({.uid = uid,
                       .address = IpAddress::Parse(AddressOf(std::stoul(uid), network)),
                       .network = kNetworks.at(network)});
    }
    for (const TrafficEnd& from : peers) {
      for (const TrafficEnd& to : peers) {
        ExpectNoDifferenceBetween(from, to);
        if (HasFatalFailure()) return;
      }
    }
  }

  void ExpectNoDifferenceBetween(const TrafficEnd& from, const TrafficEnd& to) {
    static constexpr std::array<Protocol, 8> kProtocols = {{{"tcp", "TCP", 80},
                                                            {"tcp", "TCP", 81},
                                                            {"tcp", "TCP", 8080},
                                                            {"tcp", "TCP", 9999},
                                                            {"udp", "UDP", 53},
                                                            {"udp", "UDP", 80},
                                                            {"sctp", "SCTP", 80},
                                                            {"icmp", "ICMP", 0}}};
    const ApiWords words(objects_);
    for (const Protocol& protocol : kProtocols) {
      const Traffic traffic{.from = from,
                            .to = to,
                            .protocol = protocol.compiled,
                            .port = static_cast<uint16_t>(protocol.port)};
      const ApiPacket asked{.from = from.address.value().ToString(),
                            .to = to.address.value().ToString(),
                            .protocol = protocol.api,
                            .port = protocol.port,
                            .network = from.network};
      ASSERT_EQ(cluster_.MaySend(traffic), words.MaySend(asked))
          << asked.from << " sends to " << asked.to << " " << protocol.api << protocol.port << "\n"
          << Objects();
      ASSERT_EQ(cluster_.MayReceive(traffic), words.MayReceive(asked))
          << asked.to << " receives from " << asked.from << " " << protocol.api << protocol.port
          << "\n"
          << Objects();
    }
  }
  [[nodiscard]] json Objects() const {
    return {objects_.policies, objects_.admins, objects_.nodes, objects_.multis,
            objects_.definitions};
  }

  /// A compiler that gets the present objects alone, in another order.
  void ExpectAsFromNothing() const {
    PolicyCompiler compiler;
    CompiledCluster cluster;
    for (const auto& [key, policy] : objects_.policies) {
      const size_t slash = key.find('/');
      cluster.Apply(compiler.SetPolicy(key.substr(0, slash), key.substr(slash + 1), policy));
    }
    for (const auto& [key, policy] : objects_.multis) {
      const size_t slash = key.find('/');
      cluster.Apply(compiler.SetMultiPolicy(key.substr(0, slash), key.substr(slash + 1), policy));
    }
    for (const auto& [name, network] : objects_.definitions)
      cluster.Apply(compiler.SetDefinition(name, network));
    for (const auto& [key, policy] : objects_.admins) {
      cluster.Apply(compiler.SetAdminPolicy(*FindAdminKind(policy["kind"]),
                                            key.substr(key.find('/') + 1), policy));
    }
    for (const auto& [name, node] : objects_.nodes)
      cluster.Apply(compiler.SetNode(name, PolicyNodeOf(node)));
    for (const auto& [uid, pod] : objects_.pods)
      cluster.Apply(compiler.SetPod(PolicyPodOf(pod).value()));
    for (const auto& [name, object] : objects_.namespaces)
      cluster.Apply(compiler.SetNamespace(name, LabelsOf(object)));
    EXPECT_EQ(cluster, cluster_);
  }

  RandomPolicy random_{static_cast<unsigned>(test::FromEnvironment("KURYR_SEED", 1))};
  ApiObjects objects_;
  PolicyCompiler compiler_;
  CompiledCluster cluster_;
};

TEST_F(RandomPoliciesTest, AdminsComeBeforeNetworkPoliciesAndTheBaselineBehind) {
  const int rounds = test::FromEnvironment("KURYR_ROUNDS", 600) / 40;
  for (int i = 0; i < rounds && !HasFatalFailure(); ++i) {
    ChangeAdmins();
    if (random_.Chance(30)) SetPolicy(random_.Number(kPolicies));
    ChangeSomething();
    ExpectNoDifference();
    cluster_.ExpectNamedSets();
    ExpectAsFromNothing();
  }
}

TEST_F(RandomPoliciesTest, MultiNetworkPoliciesAllowWhatTheirWordsAllowOnEachNetwork) {
  const int rounds = test::FromEnvironment("KURYR_ROUNDS", 600) / 120;
  for (int i = 0; i < rounds && !HasFatalFailure(); ++i) {
    for (int change = 0; change < 3; ++change) ChangeMultis();
    if (random_.Chance(30)) SetPolicy(random_.Number(kPolicies));
    if (random_.Chance(10)) ChangeAdmins();
    ChangeSomething();
    for (size_t network = 0; network < kNetworks.size(); ++network) ExpectNoDifference(network);
    cluster_.ExpectNamedSets();
    ExpectAsFromNothing();
  }
}

TEST_F(RandomPoliciesTest, AllowWhatTheWordsOfTheApiAllow) {
  constexpr int kTogether = 10;
  const int rounds = test::FromEnvironment("KURYR_ROUNDS", 600);
  for (int i = 0; i < rounds && !HasFatalFailure(); ++i) {
    SetPolicy(random_.Number(kPolicies));
    ChangeSomething();
    if (i % kTogether != 0 && i + 1 < rounds) continue;
    ExpectNoDifference();
    cluster_.ExpectNamedSets();
    ExpectAsFromNothing();
  }
}

}  // namespace
}  // namespace kuryr::policy
