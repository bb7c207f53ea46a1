#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "controller/backends/neutron/client/decode.h"
#include "controller/backends/neutron/client/encode.h"

namespace kuryr::controller::neutron {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

constexpr const char* kGroup = "51cbbc05-f3b2-45d3-971d-185a4645dff3";
constexpr const char* kPeer = "110c9202-676c-443f-9df5-587d2265c51f";
constexpr const char* kRule = "d96e1f90-d21d-48d8-aa60-d7ac19232095";

/// A rule as Neutron lists it: what it does not restrict is null.
json ListedWith(const json& fields) {
  json rule = {{"id", kRule},
               {"security_group_id", kGroup},
               {"direction", "ingress"},
               {"ethertype", "IPv4"},
               {"protocol", nullptr},
               {"port_range_min", nullptr},
               {"port_range_max", nullptr},
               {"remote_group_id", nullptr},
               {"remote_ip_prefix", nullptr},
               {"remote_address_group_id", nullptr}};
  rule.update(fields);
  return rule;
}

SecurityRule Decoded(const json& fields) {
  const json body = {{"security_group_rules", json::array({ListedWith(fields)})}};
  return DecodeSecurityRules(body.dump()).at(0).rule;
}

TEST(GroupFormatTest, RuleThatIsSentIsEqualToTheOneThatIsListed) {
  for (const SecurityRule& rule :
       {SecurityRule{.is_ingress = true},
        SecurityRule{.family = IpFamily::kIpv6, .protocol = "udp", .remote_group = kPeer},
        SecurityRule{.is_ingress = true,
                     .protocol = "tcp",
                     .first_port = 80,
                     .last_port = 90,
                     .remote_net = IpNetwork::Parse("10.0.0.0/9")}}) {
    EXPECT_EQ(Decoded(EncodeSecurityRuleRequest({kGroup, rule})), rule);
  }
}

TEST(GroupFormatTest, FieldsThatRestrictNothingAreNotSent) {
  const json wanted = {
      {"security_group_id", kGroup}, {"direction", "ingress"}, {"ethertype", "IPv4"}};
  EXPECT_EQ(EncodeSecurityRuleRequest({kGroup, {.is_ingress = true}}), wanted);
}

TEST(GroupFormatTest, RuleOfAnAddressGroupIsEqualToNone) {
  EXPECT_NE(Decoded({{"remote_address_group_id", kPeer}}), SecurityRule{.is_ingress = true});
}

TEST(GroupFormatTest, GroupIsDecodedWithItsRulesAndTags) {
  const json group = {{"id", kGroup},
                      {"name", "kuryr-policy x"},
                      {"description", "kuryr-controller of a"},
                      {"tags", {"a"}},
                      {"stateful", true},
                      {"security_group_rules", json::array({ListedWith(json::object())})}};
  const json body = {{"security_groups", json::array({group})}};
  const auto page = DecodeSecurityGroups(body.dump());
  EXPECT_FALSE(page.has_next);
  EXPECT_THAT(page.items, ElementsAre(SecurityGroup{.id = kGroup,
                                                    .name = "kuryr-policy x",
                                                    .description = "kuryr-controller of a",
                                                    .tags = {"a"},
                                                    .rules = {{kRule, {.is_ingress = true}}}}));
}

}  // namespace
}  // namespace kuryr::controller::neutron
