#include <nlohmann/json.hpp>

#include "base/error.h"
#include "controller/backends/neutron/client/decode.h"
#include "controller/backends/neutron/client/encode.h"
#include "controller/backends/neutron/client/neutron_client.h"

namespace kuryr::controller::neutron {

SecurityGroup NeutronClient::CreateSecurityGroup(const SecurityGroupRequest& request) {
  const nlohmann::json body = {{"security_group", EncodeSecurityGroupRequest(request)}};
  return caller_.Decoded({.kind = RequestKind::kGroupCreate,
                          .what = "create security group " + Printable(request.name),
                          .method = "POST",
                          .target = "/security-groups",
                          .body = body.dump()},
                         DecodeSecurityGroup);
}

void NeutronClient::SetSecurityGroupTags(const std::string& id,
                                         const std::vector<std::string>& tags) {
  PutTags(RequestKind::kGroupTags, "security-group", id, tags);
}

void NeutronClient::DeleteSecurityGroup(const std::string& id) {
  Delete({.kind = RequestKind::kGroupDelete,
          .what = "delete security group ",
          .target = "/security-groups/"},
         id);
}

std::vector<ListedRule> NeutronClient::CreateSecurityRules(
    const std::vector<SecurityRuleRequest>& requests) {
  if (requests.empty()) return {};
  nlohmann::json body = {{"security_group_rules", nlohmann::json::array()}};
  for (const SecurityRuleRequest& request : requests)
    body["security_group_rules"].push_back(EncodeSecurityRuleRequest(request));
  const std::string count = std::to_string(requests.size());
  const Call call{.kind = RequestKind::kRuleCreate,
                  .what = "create " + count + " security group rules, the first of group " +
                          Printable(requests.front().group_id),
                  .method = "POST",
                  .target = "/security-group-rules",
                  .body = body.dump()};
  return caller_.Decoded(call, [&](const std::string& answer) {
    std::vector<ListedRule> made = DecodeSecurityRules(answer);
    if (made.size() != requests.size())
      throw ParseError("$.security_group_rules",
                       "has " + std::to_string(made.size()) + " rules of " + count);
    return made;
  });
}

void NeutronClient::DeleteSecurityRule(const std::string& id) {
  Delete({.kind = RequestKind::kRuleDelete,
          .what = "delete security group rule ",
          .target = "/security-group-rules/"},
         id);
}

}  // namespace kuryr::controller::neutron
