#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <set>

#include "ovsdb/operation.h"
#include "tests/controller/backends/ovn/database_history.h"
#include "tests/controller/backends/ovn/ovn_backend_fixture.h"

namespace kuryr::controller::ovn {
namespace {

using nlohmann::json;
using pools::Pod;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Each switch has an ACL of the highest priority.
constexpr const char* kOfPolicies = "priority<32767";

policy::CompiledPolicy Isolate(const policy::PodSet& set) {
  return {.subject = set,
          .isolates_ingress = true,
          .rules = {{.subject = set, .peers = {"friends"}, .any_port = true}}};
}

class OvnPoliciesTest : public OvnBackendTest {
 protected:
  /// What the database says of a port at one moment.
  struct Port {
    std::set<std::string> groups;  ///< sets of pods
    bool is_isolated = false;      ///< one of its port groups has an ACL that drops
  };
  static Port Look(const vif::PodVif& vif) {
    const json all = {"OVN_Northbound", Select("Port_Group", {"ports", "acls", "external_ids"}),
                      Select("ACL", {"_uuid", "action"}),
                      Select("Logical_Switch_Port", {"_uuid", "name"})};
    const auto answer = json::parse(
        test::RunProgram({.argv = {"ovsdb-client", "transact", remote(), all.dump()}}).out);
    const std::set<json> drops = UuidsOf(answer.at(1), "action", "drop");
    const std::set<json> ports = UuidsOf(answer.at(2), "name", IdOf(vif));
    Port port;
    for (const json& group : answer.at(0).at("rows")) {
      if (!HasOneOf(group.at("ports"), ports)) continue;
      port.groups.insert(ovsdb::ParseMap(group.at("external_ids")).at("kuryr-row"));
      port.is_isolated = port.is_isolated || HasOneOf(group.at("acls"), drops);
    }
    return port;
  }
  static bool IsIsolated(const vif::PodVif& vif) { return Look(vif).is_isolated; }
  /// Whether the port was isolated, after each transaction since it is there.
  static std::vector<bool> Isolations(const vif::PodVif& vif) {
    std::vector<bool> isolations;
    ReplayDatabase("/run/nb.db", [&](const DatabaseRows& rows) {
      const auto ports = rows.find("Logical_Switch_Port");
      if (ports == rows.end()) return;
      for (const auto& [uuid, port] : ports->second) {
        if (port.value("name", "") == IdOf(vif)) isolations.push_back(HasDrop(rows, uuid));
      }
    });
    return isolations;
  }

  /// Of the database, since it was made.
  static size_t CountTransactions() {
    size_t count = 0;
    ReplayDatabase("/run/nb.db", [&](const DatabaseRows&) { ++count; });
    return count;
  }
  static std::string MetricsOf(const OvnBackend& backend) {
    service::MetricsText text;
    backend.WriteTo(text);
    return text.text();
  }

  static constexpr const char* kSan =
      "[pool:san]\ncidr = 10.8.0.0/24\ngateway = none\nnamespaces = *\n";

  /// Interface eth0 on network shared, and san0 on another one.
  static PlanRequest TwoInterfaces(const std::string& network = "san") {
    PlanRequest request = pools::RequestOf(Pod("a"), "shared");
    request.interfaces.push_back({.ifname = "san0", .network = network});
    return request;
  }
  /// A MultiNetworkPolicy for network san, whose set has the pod's interfaces on `network`.
  static policy::PolicyChanges On(const std::string& network) {
    policy::CompiledPolicy policy = Isolate("on san pods");
    policy.networks = {"san"};
    return {.policies = {{"MultiNetworkPolicy/team/p", policy}},
            .pods = {{policy::MemberOf("uid-a", network), {"on san pods"}}}};
  }

 private:
  static bool HasDrop(const DatabaseRows& rows, const std::string& port) {
    const auto has = [](const std::vector<std::string>& uuids, const auto& wanted) {
      return std::any_of(uuids.begin(), uuids.end(), wanted);
    };
    const auto& groups = rows.at("Port_Group");
    return std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
      return has(ReferencesIn(group.second, "ports"), [&](auto& uuid) { return uuid == port; }) &&
             has(ReferencesIn(group.second, "acls"),
                 [&](auto& uuid) { return rows.at("ACL").at(uuid).at("action") == "drop"; });
    });
  }
  static json Select(const char* table, const std::vector<std::string>& columns) {
    return {{"op", "select"}, {"table", table}, {"where", json::array()}, {"columns", columns}};
  }
  static std::set<json> UuidsOf(const json& result, const char* column, const std::string& value) {
    std::set<json> uuids;
    for (const json& row : result.at("rows")) {
      if (row.at(column) == value) uuids.insert(row.at("_uuid"));
    }
    return uuids;
  }
  /// A set of one element is the element itself (RFC 7047, 5.1).
  static bool HasOneOf(const json& set, const std::set<json>& wanted) {
    if (set.at(0) != "set") return wanted.contains(set);
    const json& elements = set.at(1);
    return std::any_of(elements.begin(), elements.end(),
                       [&](const json& element) { return wanted.contains(element); });
  }
};

TEST_F(OvnPoliciesTest, PodIsIsolatedBeforeItHasAPlan) {
  const auto backend = Make();
  backend->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {{"uid-a", {"web"}}}});

  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));

  EXPECT_TRUE(IsIsolated(pod.at(0)));
  EXPECT_THAT(Look(pod.at(0)).groups, ElementsAre("web"));
  EXPECT_THAT(Column("ACL", "action", kOfPolicies),
              ElementsAre("allow-related", "allow-related", "allow-related", "drop"));
}

TEST_F(OvnPoliciesTest, DefaultRouteOfAnotherInterfaceTakesNoPolicyAway) {
  const auto backend = Make();
  backend->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {{"uid-a", {"web"}}}});
  PlanRequest request = pools::RequestOf(Pod("a"), "shared");
  request.interfaces.at(0).is_default = false;
  request.interfaces.push_back({.ifname = "net1", .is_default = true, .network = "shared"});

  for (const vif::PodVif& vif : Reserve(*backend, request))
    EXPECT_EQ(IsIsolated(vif), vif.ifname == "eth0") << vif.ifname;
}

TEST_F(OvnPoliciesTest, PodThatRunsJoinsAndLeaves) {
  const auto backend = Make();
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));

  backend->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {{"uid-a", {"friends"}}}});
  EXPECT_TRUE(Await([&] { return Look(pod.at(0)).groups == std::set<std::string>{"friends"}; }));
  EXPECT_FALSE(IsIsolated(pod.at(0)));

  backend->Enforce({.policies = {}, .pods = {{"uid-a", {"friends", "web"}}}});
  EXPECT_TRUE(Await([&] { return IsIsolated(pod.at(0)); }));

  backend->Enforce({.policies = {{"team/p", std::nullopt}}, .pods = {{"uid-a", {}}}});
  EXPECT_TRUE(Await([&] { return Column("Port_Group", "name").empty(); }));
  EXPECT_THAT(Column("ACL", "match", kOfPolicies), IsEmpty());
  EXPECT_THAT(Column("Logical_Switch_Port", "name"), ElementsAre(IdOf(pod.at(0))));
}

TEST_F(OvnPoliciesTest, PodIsNeverOpenWhileItsPoliciesAreReplaced) {
  const auto backend = Make();
  backend->Enforce({.policies = {{"team/p", Isolate("one")}}, .pods = {{"uid-a", {"one"}}}});
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));

  for (int i = 0; i < 40; ++i) {
    const policy::PodSet set = i % 2 == 0 ? "two" : "one";
    backend->Enforce({.policies = {{"team/p", Isolate(set)}}, .pods = {{"uid-a", {set}}}});
    EXPECT_TRUE(Await([&] { return Look(pod.at(0)).groups == std::set<std::string>{set}; }));
  }

  EXPECT_THAT(Isolations(pod.at(0)), AllOf(SizeIs(Ge(40)), Each(true)));
}

/// Another program's ACLs leave no room for those of the policy: its port groups are taken, and its
/// ACLs are refused.
class OvnFullTest : public OvnPoliciesTest {
 protected:
  static constexpr int kMostAcls = 6;  ///< as many as Isolate and the switches of two pools have

  void SetUp() override {
    OvnPoliciesTest::SetUp();
    if (IsSkipped()) return;
    ReplaceDatabase(kMostAcls);
    Nbctl({"ls-add", "other"});
    for (int i = 0; i < kMostAcls; ++i)
      Nbctl({"acl-add", "other", "to-lport", std::to_string(i), "ip", "drop"});
  }
  static void MakeRoom() { Nbctl({"acl-del", "other"}); }
};

TEST_F(OvnFullTest, PodHasNoPlanWhileItsIsolationIsRefused) {
  const auto backend = Make();
  backend->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {{"uid-a", {"web"}}}});
  const PlanRequest request = pools::RequestOf(Pod("a"), "shared");
  std::string refusal;
  const auto is_planned = [&] {
    try {
      return backend->Reserve(request).has_value();
    } catch (const PlanError& e) {
      refusal = e.what();
      return false;
    }
  };

  EXPECT_TRUE(Await([&] { return is_planned() || !refusal.empty(); }));
  EXPECT_THAT(refusal,
              HasSubstr("row isolated/ingress/web of ACL: the northbound database refuses it"));
  EXPECT_FALSE(is_planned());
  EXPECT_EQ(Reserve(*backend, pools::RequestOf(Pod("b"), "shared")).size(), 1);

  MakeRoom();
  EXPECT_TRUE(IsIsolated(ReserveAgain(*backend, request).at(0)));
}

TEST_F(OvnFullTest, PodHasNoPlanWhileTheIsolationOfAnAdditionalInterfaceIsRefused) {
  const auto backend = Make(kSan);
  backend->Enforce(On("san"));
  std::string refusal;

  EXPECT_TRUE(Await([&] {
    try {
      EXPECT_FALSE(backend->Reserve(TwoInterfaces()).has_value());
    } catch (const PlanError& e) {
      refusal = e.what();
    }
    return !refusal.empty();
  }));

  EXPECT_THAT(refusal, HasSubstr("row isolated/ingress/on san pods of ACL"));
  MakeRoom();
  EXPECT_TRUE(IsIsolated(ReserveAgain(*backend, TwoInterfaces()).at(1)));
}

TEST_F(OvnFullTest, PolicyTellsWhyItsRowsAreRefused) {
  std::atomic<unsigned> woken = 0;
  const auto backend = Make("", [&](const std::string& name) {
    EXPECT_EQ(name, "team/p");
    ++woken;
    Tell();
  });
  backend->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {}});

  ASSERT_TRUE(Await([&] { return woken > 0; }));
  EXPECT_THAT(
      backend->FindRefusal("team/p").value_or(""),
      AllOf(HasSubstr("of ACL: the northbound database refuses it"), HasSubstr("constraint")));
  EXPECT_FALSE(backend->FindRefusal("team/q"));

  MakeRoom();
  EXPECT_TRUE(Await([&] { return !backend->FindRefusal("team/p"); }));
}

TEST_F(OvnPoliciesTest, NextControllerTakesOverWithoutAGap) {
  auto backend = Make();
  const policy::PolicyChanges all = {.policies = {{"team/p", Isolate("web")}},
                                     .pods = {{"uid-a", {"web"}}}};
  backend->Enforce(all);
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));
  const auto rows = Column("ACL", "_uuid");
  backend.reset();

  const auto next = MakeNext();
  next->Enforce(all);
  next->Adopt(Pod("a"), pod);
  next->EndAdoption();
  EXPECT_EQ(Reserve(*next, pools::RequestOf(Pod("a"), "shared")), pod);

  EXPECT_EQ(Column("ACL", "_uuid"), rows);
  EXPECT_TRUE(IsIsolated(pod.at(0)));
}

TEST_F(OvnPoliciesTest, PolicyThatWentWhileNobodyLedIsGoneAtOnce) {
  auto backend = Make();
  policy::CompiledPolicy other = Isolate("web");
  other.rules[0].any_peer = true;
  other.rules[0].peers.clear();
  backend->Enforce(
      {.policies = {{"team/p", Isolate("web")}, {"team/q", other}}, .pods = {{"uid-a", {"web"}}}});
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));
  backend.reset();

  const auto next = MakeNext();
  next->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {{"uid-a", {"web"}}}});
  next->Adopt(Pod("a"), pod);
  next->EndAdoption();

  EXPECT_TRUE(Await([&] { return Column("ACL", "action", kOfPolicies).size() == 4; }));
  EXPECT_TRUE(IsIsolated(pod.at(0)));
  EXPECT_THAT(Column("Logical_Switch_Port", "name"), ElementsAre(IdOf(pod.at(0))));
}

TEST_F(OvnPoliciesTest, NextControllerChangesPoliciesWithPortsOnceAllPlansAreAdopted) {
  auto backend = Make();
  backend->Enforce({.policies = {{"team/p", Isolate("web")}, {"team/q", Isolate("old")}},
                    .pods = {{"uid-a", {"web", "old"}}}});
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));
  backend.reset();
  const size_t former = CountTransactions();

  const auto next = MakeNext();
  next->Enforce({.policies = {{"team/p", Isolate("web")}, {"team/r", Isolate("new")}},
                 .pods = {{"uid-a", {"web", "new"}}}});
  ASSERT_TRUE(
      Await([&] { return MetricsOf(*next).find("ovn_connected 1\n") != std::string::npos; }));
  EXPECT_THAT(MetricsOf(*next), HasSubstr("ovn_transactions_total 0\n"));
  next->Adopt(Pod("a"), pod);
  next->EndAdoption();

  ASSERT_TRUE(Await([&] { return Look(pod.at(0)).groups == std::set<std::string>{"new", "web"}; }));
  EXPECT_EQ(CountTransactions(), former + 1);
  EXPECT_THAT(Isolations(pod.at(0)), Each(true));
}

TEST_F(OvnPoliciesTest, PodsOfAPolicyWithoutRulesJoinTheGroupThatTheNextPolicyMakes) {
  const auto backend = Make();
  const policy::CompiledPolicy none = {.subject = "web", .tier = policy::PolicyTier::kBaseline};
  backend->Enforce(
      {.policies = {{"BaselineAdminNetworkPolicy/default", none}}, .pods = {{"uid-a", {"web"}}}});
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));

  const policy::PolicyRule deny = {
      .subject = "web", .any_peer = true, .any_port = true, .action = policy::PolicyAction::kDeny};
  const policy::CompiledPolicy one = {
      .subject = "web", .rules = {deny}, .tier = policy::PolicyTier::kAdmin};
  backend->Enforce({.policies = {{"AdminNetworkPolicy/p", one}}});

  EXPECT_TRUE(Await([&] { return Look(pod.at(0)).groups == std::set<std::string>{"web"}; }));
}

TEST_F(OvnPoliciesTest, WhatSomebodyOpensIsClosedAgain) {
  const auto backend = Make();
  backend->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {{"uid-a", {"web"}}}});
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));

  for (const std::string& group : Column("Port_Group", "name"))
    Nbctl({"clear", "Port_Group", group, "ports", "--", "clear", "Port_Group", group, "acls"});

  EXPECT_TRUE(Await([&] { return IsIsolated(pod.at(0)); }));
}

TEST_F(OvnPoliciesTest, AdditionalInterfaceIsIsolatedBeforeThePodHasAPlan) {
  const auto backend = Make(kSan);
  backend->Enforce(On("san"));

  const Vifs pod = Reserve(*backend, TwoInterfaces());

  EXPECT_TRUE(IsIsolated(pod.at(1)));
  EXPECT_THAT(Look(pod.at(1)).groups, ElementsAre("on san pods"));
  EXPECT_THAT(Look(pod.at(0)).groups, IsEmpty());
  EXPECT_THAT(Isolations(pod.at(1)), Each(true));
}

TEST_F(OvnPoliciesTest, InterfaceOnAnotherNetworkIsNotIsolated) {
  const auto backend = Make(kSan);
  backend->Enforce(On("san"));

  for (const vif::PodVif& vif : Reserve(*backend, TwoInterfaces("shared")))
    EXPECT_THAT(Look(vif).groups, IsEmpty()) << vif.ifname;
}

TEST_F(OvnPoliciesTest, PolicyForAnyNetworkIsForAllButEth0) {
  const auto backend = Make(kSan);
  const Vifs pod = Reserve(*backend, TwoInterfaces("shared"));

  backend->Enforce(On(policy::kAnyNetwork));

  EXPECT_TRUE(Await([&] { return IsIsolated(pod.at(1)); }));
  EXPECT_FALSE(IsIsolated(pod.at(0)));
}

TEST_F(OvnPoliciesTest, AdditionalInterfaceThatComesLaterIsNeverOpen) {
  const auto backend = Make(kSan);
  backend->Enforce(On("san"));
  (void)Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));

  const Vifs pod = Reserve(*backend, TwoInterfaces());

  EXPECT_THAT(Isolations(pod.at(1)), AllOf(SizeIs(Ge(1)), Each(true)));
}

TEST_F(OvnPoliciesTest, AdditionalInterfaceIsNeverOpenWhileItsPoliciesAreReplaced) {
  const auto backend = Make(kSan);
  backend->Enforce(On("san"));
  const Vifs pod = Reserve(*backend, TwoInterfaces());

  for (const char* network : {policy::kAnyNetwork, "san", policy::kAnyNetwork}) {
    policy::PolicyChanges changes = On(network);
    changes.pods.emplace(
        policy::MemberOf("uid-a", network == std::string("san") ? policy::kAnyNetwork : "san"),
        std::set<policy::PodSet>());
    backend->Enforce(changes);
    (void)Reserve(*backend, TwoInterfaces());
  }

  EXPECT_THAT(Isolations(pod.at(1)), Each(true));
}

TEST_F(OvnPoliciesTest, NextControllerKnowsTheNetworkByThePlan) {
  auto backend = Make(kSan);
  backend->Enforce(On("san"));
  const Vifs pod = Reserve(*backend, TwoInterfaces());
  const auto rows = Column("ACL", "_uuid");
  backend.reset();

  const auto next = MakeNext(kSan);
  next->Enforce(On("san"));
  next->Adopt(Pod("a"), pod);
  next->EndAdoption();
  (void)Reserve(*next, TwoInterfaces());

  EXPECT_EQ(Column("ACL", "_uuid"), rows);
  EXPECT_THAT(Isolations(pod.at(1)), Each(true));
}

}  // namespace
}  // namespace kuryr::controller::ovn
