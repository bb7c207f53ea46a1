#include "policy/policy_verdicts.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace kuryr::policy {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PolicyVerdictsTest : public ::testing::Test {
 protected:
  PolicyVerdictsTest() {
    for (const char* app : {"web", "db"}) {
      verdicts_.Apply(compiler_.SetPod(
          {.uid = app, .name_space = "team", .labels = {{"app", app}}, .ports = {}}));
    }
  }
  void Set(const std::string& name, const std::string& spec) {
    verdicts_.Apply(compiler_.SetPolicy("team", name, {{"spec", json::parse(spec)}}));
  }

  PolicyCompiler compiler_;
  PolicyVerdicts verdicts_;
  const Traffic traffic_{.from = {.uid = "web", .address = IpAddress::Parse("10.4.0.2")},
                         .to = {.uid = "db", .address = std::nullopt},
                         .protocol = "tcp",
                         .port = 5432};
};

TEST_F(PolicyVerdictsTest, NamePoliciesThatIsolateAndTheOneThatAllows) {
  Set("deny", R"({"podSelector": {}})");
  EXPECT_FALSE(verdicts_.OnReceiving(traffic_).is_allowed());
  Set("sql", R"({"podSelector": {"matchLabels": {"app": "db"}},
                 "ingress": [{"ports": [{"port": 80}]}, {"ports": [{"port": 5432}]}]})");
  const PolicyVerdict verdict = verdicts_.OnReceiving(traffic_);
  EXPECT_TRUE(verdict.is_allowed());
  EXPECT_THAT(verdict.isolating, ElementsAre("team/deny", "team/sql"));
  EXPECT_EQ(verdict.policy, "team/sql");
  EXPECT_EQ(Readable(verdict.rule.value()), "from anywhere, tcp/5432");
  EXPECT_THAT(verdicts_.OnSending(traffic_).isolating, IsEmpty());
}

TEST_F(PolicyVerdictsTest, APodWithoutAnAddressIsInNoBlock) {
  Set("out",
      R"({"policyTypes": ["Egress"], "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}]})");
  EXPECT_FALSE(verdicts_.OnSending(traffic_).is_allowed());
}

TEST_F(PolicyVerdictsTest, KeepTheErrorOfAPolicyWhileItHasOne) {
  Set("p", R"({"ingress": [1]})");
  EXPECT_THAT(verdicts_.errors(), ElementsAre(::testing::Key("team/p")));
  Set("p", R"({"ingress": [{}]})");
  EXPECT_THAT(verdicts_.errors(), IsEmpty());
}

TEST_F(PolicyVerdictsTest, ARuleIsReadable) {
  Set("p", R"({"policyTypes": ["Egress"], "egress": [
      {"to": [{"podSelector": {"matchLabels": {"app": "db"}}},
              {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "10.2.0.0/16"]}}],
       "ports": [{"protocol": "UDP", "port": 10, "endPort": 20}, {"protocol": "SCTP"}]}]})");
  EXPECT_EQ(Readable(verdicts_.policies().at("team/p").rules.at(0)),
            "to ns=team pods=app=db or 10.0.0.0/8 except 10.1.0.0/16 and 10.2.0.0/16, sctp "
            "udp/10-20");
}

}  // namespace
}  // namespace kuryr::policy
