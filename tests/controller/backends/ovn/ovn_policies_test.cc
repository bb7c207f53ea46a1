#include <nlohmann/json.hpp>

#include "tests/controller/backends/ovn/ovn_backend_fixture.h"

namespace kuryr::controller::ovn {
namespace {

using pools::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

CompiledPolicy Isolate(const PodSet& set) {
  return {.subject = set,
          .isolates_ingress = true,
          .rules = {{.subject = set, .peers = {"friends"}, .any_port = true}}};
}

class OvnPoliciesTest : public OvnBackendTest {
 protected:
  /// Whether a port group with the port has an ACL that drops, at one moment.
  static bool IsIsolated(const std::string& port) {
    const nlohmann::json all = {"OVN_Northbound", Select("Port_Group", {"ports", "acls"}),
                                Select("ACL", {"_uuid", "action"}),
                                Select("Logical_Switch_Port", {"_uuid", "name"})};
    const auto answer = nlohmann::json::parse(
        test::RunProgram({.argv = {"ovsdb-client", "transact", remote(), all.dump()}}).out);
    std::set<nlohmann::json> drops;
    for (const auto& acl : answer.at(1).at("rows")) {
      if (acl.at("action") == "drop") drops.insert(acl.at("_uuid"));
    }
    nlohmann::json uuid;
    for (const auto& row : answer.at(2).at("rows")) {
      if (row.at("name") == port) uuid = row.at("_uuid");
    }
    for (const auto& group : answer.at(0).at("rows")) {
      if (!Has(group.at("ports"), uuid)) continue;
      for (const auto& drop : drops) {
        if (Has(group.at("acls"), drop)) return true;
      }
    }
    return false;
  }
  static std::string GroupsOf(const vif::PodVif& vif) {
    const auto uuid = Column("Logical_Switch_Port", "_uuid", "name=" + IdOf(vif));
    std::string groups;
    for (const std::string& name : Column("Port_Group", "name")) {
      if (Nbctl({"get", "Port_Group", name, "ports"}).find(uuid.at(0)) == std::string::npos)
        continue;
      groups += Nbctl({"get", "Port_Group", name, "external_ids:kuryr-row"}) + " ";
    }
    return groups;
  }

 private:
  static nlohmann::json Select(const char* table, const std::vector<std::string>& columns) {
    return {{"op", "select"},
            {"table", table},
            {"where", nlohmann::json::array()},
            {"columns", columns}};
  }
  /// A set of one element is the element itself (RFC 7047, 5.1).
  static bool Has(const nlohmann::json& set, const nlohmann::json& element) {
    if (set == element) return true;
    if (set.at(0) != "set") return false;
    const nlohmann::json& elements = set.at(1);
    return std::find(elements.begin(), elements.end(), element) != elements.end();
  }
};

TEST_F(OvnPoliciesTest, PodIsIsolatedBeforeItHasAPlan) {
  const auto backend = Make();
  backend->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {{"uid-a", {"web"}}}});

  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));

  EXPECT_TRUE(IsIsolated(IdOf(pod.at(0))));
  EXPECT_EQ(GroupsOf(pod.at(0)), "web ");
  EXPECT_THAT(Column("ACL", "action"), ElementsAre("allow-related", "allow-related", "drop"));
}

TEST_F(OvnPoliciesTest, PodThatRunsJoinsAndLeaves) {
  const auto backend = Make();
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));

  backend->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {{"uid-a", {"friends"}}}});
  EXPECT_TRUE(Await([&] { return GroupsOf(pod.at(0)) == "friends "; }));
  EXPECT_FALSE(IsIsolated(IdOf(pod.at(0))));

  backend->Enforce({.policies = {}, .pods = {{"uid-a", {"friends", "web"}}}});
  EXPECT_TRUE(Await([&] { return IsIsolated(IdOf(pod.at(0))); }));

  backend->Enforce({.policies = {{"team/p", std::nullopt}}, .pods = {{"uid-a", {}}}});
  EXPECT_TRUE(Await([&] { return Column("Port_Group", "name").empty(); }));
  EXPECT_THAT(Column("ACL", "match"), IsEmpty());
  EXPECT_THAT(Column("Logical_Switch_Port", "name"), ElementsAre(IdOf(pod.at(0))));
}

TEST_F(OvnPoliciesTest, PodIsNeverOpenWhileItsPoliciesAreReplaced) {
  const auto backend = Make();
  backend->Enforce({.policies = {{"team/p", Isolate("one")}}, .pods = {{"uid-a", {"one"}}}});
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));

  for (int i = 0; i < 40; ++i) {
    const PodSet set = i % 2 == 0 ? "two" : "one";
    backend->Enforce({.policies = {{"team/p", Isolate(set)}}, .pods = {{"uid-a", {set}}}});
    do {
      ASSERT_TRUE(IsIsolated(IdOf(pod.at(0)))) << "change " << i;
    } while (GroupsOf(pod.at(0)) != set + " ");
  }
}

TEST_F(OvnPoliciesTest, NextControllerTakesOverWithoutAGap) {
  auto backend = Make();
  const PolicyChanges all = {.policies = {{"team/p", Isolate("web")}},
                             .pods = {{"uid-a", {"web"}}}};
  backend->Enforce(all);
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));
  const auto rows = Column("ACL", "_uuid");
  backend.reset();

  const auto next = Make();
  next->Enforce(all);
  next->Adopt(Pod("a"), pod);
  EXPECT_EQ(Reserve(*next, pools::RequestOf(Pod("a"), "shared")), pod);

  EXPECT_EQ(Column("ACL", "_uuid"), rows);
  EXPECT_TRUE(IsIsolated(IdOf(pod.at(0))));
}

TEST_F(OvnPoliciesTest, PolicyThatWentWhileNobodyLedIsGoneAtOnce) {
  auto backend = Make();
  CompiledPolicy other = Isolate("web");
  other.rules[0].any_peer = true;
  other.rules[0].peers.clear();
  backend->Enforce(
      {.policies = {{"team/p", Isolate("web")}, {"team/q", other}}, .pods = {{"uid-a", {"web"}}}});
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));
  backend.reset();

  const auto next = Make();
  next->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {{"uid-a", {"web"}}}});
  next->Adopt(Pod("a"), pod);

  EXPECT_TRUE(Await([&] { return Column("ACL", "action").size() == 3; }));
  EXPECT_TRUE(IsIsolated(IdOf(pod.at(0))));
  EXPECT_THAT(Column("Logical_Switch_Port", "name"), ElementsAre(IdOf(pod.at(0))));
}

TEST_F(OvnPoliciesTest, WhatSomebodyOpensIsClosedAgain) {
  const auto backend = Make();
  backend->Enforce({.policies = {{"team/p", Isolate("web")}}, .pods = {{"uid-a", {"web"}}}});
  const Vifs pod = Reserve(*backend, pools::RequestOf(Pod("a"), "shared"));

  for (const std::string& group : Column("Port_Group", "name"))
    Nbctl({"clear", "Port_Group", group, "ports", "--", "clear", "Port_Group", group, "acls"});

  EXPECT_TRUE(Await([&] { return IsIsolated(IdOf(pod.at(0))); }));
}

TEST_F(OvnPoliciesTest, NodeReachesThePodsOfItsSwitch) {
  const auto backend = Make();
  const Vifs node = Reserve(*backend, NodeRequest("n1"));
  const auto addresses = pools::AddressesOf(node.at(0));

  EXPECT_THAT(Column("ACL", "match"),
              ElementsAre("ip4.src == " + addresses[0] + " || ip6.src == " + addresses[1]));
  EXPECT_THAT(Nbctl({"acl-list", "kuryr/node/n1"}), HasSubstr("to-lport  1002"));
}

}  // namespace
}  // namespace kuryr::controller::ovn
