#include "policy/policy_node.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "policy/policy_parts.h"
#include "policy/policy_pod.h"

namespace kuryr::policy {

PolicyNode PolicyNodeOf(const nlohmann::json& node) {
  PolicyNode facts{.labels = LabelsOf(node), .addresses = {}};
  for (const auto& entry : MemberAt(MemberAt(node, "status"), "addresses")) {
    const auto address = IpAddress::Parse(StringAt(entry, "address"));
    if (address && facts.addresses.size() < PolicyNode::kMostAddresses)
      facts.addresses.push_back({*address, static_cast<uint8_t>(address->size() * 8)});
  }
  SortOnce(facts.addresses);
  return facts;
}

bool PolicyNodes::Set(const std::string& name, PolicyNode node) {
  const auto [known, is_new] = nodes_.try_emplace(name);
  if (!is_new && known->second == node) return false;
  known->second = std::move(node);
  return true;
}

std::vector<IpNetwork> PolicyNodes::Chosen(const std::vector<LabelSelector>& selectors) const {
  std::vector<IpNetwork> chosen;
  for (const auto& [name, node] : nodes_) {
    if (std::any_of(selectors.begin(), selectors.end(),
                    [&](const LabelSelector& each) { return each.Matches(node.labels); }))
      chosen.insert(chosen.end(), node.addresses.begin(), node.addresses.end());
  }
  SortOnce(chosen);
  return chosen;
}

}  // namespace kuryr::policy
