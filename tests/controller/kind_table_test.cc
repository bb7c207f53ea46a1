#include "controller/kind_table.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/controller/bare_backend.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using watcher::WatchMode;

/// Records what it is told of.
class RecordingBackend : public test::BareBackend,
                         public PolicyEnforcer,
                         public ScopeUser,
                         public ServiceBalancer {
 public:
  Facets facets() override { return {.scopes = this, .services = this, .policies = this}; }
  bool Owns(const Owner& /*owner*/, const vif::PodVif& /*vif*/) const override { return true; }
  void Adopt(const Owner& owner, const std::vector<vif::PodVif>& /*vifs*/) override {
    told.push_back(owner.name);
  }
  void Enforce(const policy::PolicyChanges& changes) override {
    for (const auto& [name, policy] : changes.policies) told.push_back(name);
  }
  void SweepScopes() override { told.emplace_back("scopes"); }
  void Balance(const std::string& name, const Service& /*service*/) override {
    told.push_back(name);
  }
  void SetZone(const std::string& /*node*/, const std::string& /*zone*/) override {}
  std::optional<std::string> WhyNotBalanced(const std::string& /*name*/) const override {
    return std::nullopt;
  }

  std::vector<std::string> told;
};

void Tell(KindTable& kinds, const json& object) {
  const auto event = watcher::MakeEvent(watcher::EventType::kAdded, object);
  for (const KindRow& row : kinds.rows) {
    for (const auto& [key_fn, kind] : row.kind.Consumes()) {
      if (key_fn(event) == kind) row.kind.Handle(event);
    }
  }
}

/// An object with a plan.
json Planned(const std::string& kind, const json& metadata) {
  vif::VifOpenVSwitch vif;
  vif.id = "11111111-2222-4333-8444-555555555555";
  json object = {{"kind", kind}, {"apiVersion", "v1"}, {"metadata", metadata}};
  object["metadata"]["uid"] = "uid-" + kind;
  object["metadata"]["annotations"][vif::kVifAnnotation] =
      vif::EncodeAnnotation({{.ifname = "eth0", .is_default = true, .vif = vif}});
  object["spec"] = {{"nodeName", "node1"}};
  return object;
}

TEST(KindTableTest, KindsTellANewBackendInTheOrderOfTheirRows) {
  KindTable kinds(
      {.needs = {.services = true, .policies = true, .labels = {}},
       .node_network = {.enabled = true, .service_cidrs = {}, .non_masquerade_cidrs = {}}});
  Tell(kinds, json::parse(R"({"kind": "Service", "metadata": {"namespace": "team", "name": "web"},
                              "spec": {"clusterIP": "10.96.0.7"}})"));
  Tell(kinds, Planned("Pod", {{"namespace", "team"}, {"name", "a"}}));
  Tell(kinds, Planned("Node", {{"name", "node1"}}));
  Tell(kinds, json::parse(R"({"kind": "Namespace", "metadata": {"name": "team", "uid": "1"}})"));
  Tell(kinds, json::parse(R"({"kind": "NetworkPolicy", "metadata": {"namespace": "team",
                              "name": "deny"}, "spec": {"podSelector": {}}})"));
  RecordingBackend backend;

  for (const KindRow& row : kinds.rows)
    row.kind.BeginTerm({backend, {.sink = SinkKind::kPodState}});

  EXPECT_THAT(backend.told, ElementsAre("team/deny", "node1", "a", "scopes", "team/web"));
}

/// Each path with its mode, as the first row wants it.
std::map<std::string, WatchMode> PathsWith(const KindParts& parts) {
  KindTable kinds(parts);
  std::map<std::string, WatchMode> paths;
  for (const KindRow& row : kinds.rows) {
    for (const WatchedPath& path : row.kind.Paths()) paths.emplace(path.path, path.mode);
  }
  return paths;
}

TEST(KindTableTest, WatchesWhatTheBackendNeeds) {
  const auto paths = PathsWith({});
  EXPECT_EQ(paths.at("/api/v1/pods"), WatchMode::kSet);
  EXPECT_EQ(paths.at("/apis/networking.k8s.io/v1/networkpolicies"), WatchMode::kOptionalSet);
  EXPECT_FALSE(paths.contains("/api/v1/namespaces"));
  EXPECT_FALSE(paths.contains("/api/v1/services"));
  EXPECT_FALSE(paths.contains("/api/v1/nodes"));

  EXPECT_EQ(PathsWith({.needs = {.scopes = true, .labels = {}}}).at("/api/v1/namespaces"),
            WatchMode::kOptionalSet);
  const auto of_enforcer = PathsWith(
      {.needs = {.scopes = true, .policies = true, .admin_policies = true, .labels = {}}});
  EXPECT_EQ(of_enforcer.at("/api/v1/namespaces"), WatchMode::kSet);
  EXPECT_EQ(of_enforcer.at("/apis/networking.k8s.io/v1/networkpolicies"), WatchMode::kSet);
  EXPECT_EQ(of_enforcer.at("/api/v1/nodes"), WatchMode::kOptionalSet);
}

TEST(KindTableTest, WatchesNetworksOfServicesUnlessTheBackendBalancesThem) {
  KindParts parts = {
      .needs = {},
      .node_network = {.enabled = true, .service_cidrs = {}, .non_masquerade_cidrs = {}}};
  const char* const cidrs = "/apis/networking.k8s.io/v1/servicecidrs";
  EXPECT_TRUE(PathsWith(parts).contains(cidrs));
  EXPECT_TRUE(PathsWith(parts).contains("/api/v1/nodes"));

  parts.needs.services = true;
  EXPECT_FALSE(PathsWith(parts).contains(cidrs));
  EXPECT_TRUE(PathsWith(parts).contains("/api/v1/services"));
  EXPECT_TRUE(PathsWith(parts).contains("/apis/discovery.k8s.io/v1/endpointslices"));
}

TEST(KindTableTest, EachRoundHasTheKeysOfOneKind) {
  const KindTable kinds{KindParts()};
  std::set<std::string_view> names;
  for (const KindRow& row : kinds.rows) {
    EXPECT_EQ(row.name.empty(), row.make_round == nullptr);
    if (row.make_round) {
      EXPECT_TRUE(names.insert(row.name).second) << row.name;
    }
  }

  EXPECT_TRUE(names.contains(Key::kPod));
  EXPECT_TRUE(names.contains(Key::kNode));
}

}  // namespace
}  // namespace kuryr::controller
