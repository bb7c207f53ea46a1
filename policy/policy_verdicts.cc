#include "policy/policy_verdicts.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace kuryr::policy {
namespace {

bool HasPort(const PolicyRule& rule, const Traffic& traffic) {
  return rule.any_port ||
         std::any_of(rule.ports.begin(), rule.ports.end(), [&](const PortRange& range) {
           return range.protocol == traffic.protocol && range.first <= traffic.port &&
                  traffic.port <= range.last;
         });
}

void AppendReadable(std::string& text, const AddressBlock& block) {
  text += block.network.ToString();
  const char* separator = " except ";
  for (const IpNetwork& except : block.except) {
    text.append(separator).append(except.ToString());
    separator = " and ";
  }
}

void AppendReadable(std::string& text, const PortRange& range) {
  text += range.protocol;
  if (range.first == 0 && range.last == UINT16_MAX) return;
  text.append("/").append(std::to_string(range.first));
  if (range.last != range.first) text.append("-").append(std::to_string(range.last));
}

}  // namespace

void PolicyVerdicts::Apply(const PolicyChanges& changes) {
  for (const auto& [name, policy] : changes.policies) {
    errors_.erase(name);
    policies_.erase(name);
    if (policy) policies_.emplace(name, *policy);
  }
  for (const auto& [name, error] : changes.errors) errors_.insert_or_assign(name, error);
  for (const auto& [member, sets] : changes.pods) {
    pods_.erase(member);
    if (!sets.empty()) pods_.emplace(member, sets);
  }
}

bool PolicyVerdicts::IsIn(const std::string& uid, const PodSet& set,
                          const std::string& network) const {
  const auto is_in = [&](const std::string& on) {
    const auto member = pods_.find(MemberOf(uid, on));
    return member != pods_.end() && member->second.contains(set);
  };
  return is_in(network) || (!network.empty() && is_in(kAnyNetwork));
}

bool PolicyVerdicts::HasPeer(const PolicyRule& rule, const TrafficEnd& peer) const {
  if (rule.any_peer) return true;
  if (std::any_of(rule.peers.begin(), rule.peers.end(),
                  [&](const PodSet& set) { return IsIn(peer.uid, set, peer.network); }))
    return true;
  return peer.address &&
         std::any_of(rule.blocks.begin(), rule.blocks.end(),
                     [&](const AddressBlock& block) { return block.Contains(*peer.address); });
}

bool PolicyVerdicts::Matches(const PolicyRule& rule, const Question& question) const {
  return rule.direction == question.direction &&
         IsIn(question.subject.uid, rule.subject, question.subject.network) &&
         HasPeer(rule, question.peer) && HasPort(rule, question.traffic);
}

PolicyVerdict PolicyVerdicts::Judge(const Question& question) const {
  PolicyVerdict verdict;
  AskAdmins(PolicyTier::kAdmin, question, verdict);
  if (verdict.rule) return verdict;
  AskNetworkPolicies(question, verdict);
  if (verdict.isolating.empty()) AskAdmins(PolicyTier::kBaseline, question, verdict);
  return verdict;
}

void PolicyVerdicts::AskAdmins(PolicyTier tier, const Question& question,
                               PolicyVerdict& verdict) const {
  for (const std::string& name : OrderOf(tier)) {
    for (const PolicyRule& rule : policies_.at(name).rules) {
      if (!Matches(rule, question)) continue;
      if (rule.action == PolicyAction::kPass) {
        verdict.passing = name;
        return;
      }
      verdict.policy = name;
      verdict.rule = rule;
      return;
    }
  }
}

void PolicyVerdicts::AskNetworkPolicies(const Question& question, PolicyVerdict& verdict) const {
  for (const auto& [name, policy] : policies_) {
    if (policy.tier != PolicyTier::kNetwork ||
        !IsIn(question.subject.uid, policy.subject, question.subject.network))
      continue;
    if (Isolates(policy, question.direction)) verdict.isolating.push_back(name);
    if (verdict.rule) continue;
    const auto rule = std::find_if(policy.rules.begin(), policy.rules.end(),
                                   [&](const PolicyRule& each) { return Matches(each, question); });
    if (rule == policy.rules.end()) continue;
    verdict.policy = name;
    verdict.rule = *rule;
  }
}

std::vector<std::string> PolicyVerdicts::OrderOf(PolicyTier tier) const {
  return AdminOrder(policies_, tier);
}

PolicyVerdict PolicyVerdicts::OnSending(const Traffic& traffic) const {
  return Judge({.direction = TrafficDirection::kEgress,
                .subject = traffic.from,
                .peer = traffic.to,
                .traffic = traffic});
}

PolicyVerdict PolicyVerdicts::OnReceiving(const Traffic& traffic) const {
  return Judge({.direction = TrafficDirection::kIngress,
                .subject = traffic.to,
                .peer = traffic.from,
                .traffic = traffic});
}

std::vector<std::string> AdminOrder(const std::map<std::string, CompiledPolicy>& policies,
                                    PolicyTier tier) {
  std::vector<std::string> order;
  for (const auto& [name, policy] : policies) {
    if (policy.tier == tier) order.push_back(name);
  }
  const auto place = [&](const std::string& name) {
    return std::pair(policies.at(name).priority, std::string_view(name));
  };
  std::sort(order.begin(), order.end(),
            [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
  return order;
}

bool Isolates(const CompiledPolicy& policy, TrafficDirection direction) noexcept {
  return direction == TrafficDirection::kIngress ? policy.isolates_ingress : policy.isolates_egress;
}

const char* VerbOf(PolicyAction action) {
  switch (action) {
    case PolicyAction::kAllow:
      return "allows";
    case PolicyAction::kDeny:
      return "denies";
    case PolicyAction::kPass:
      return "passes on what is";
  }
  return "";
}

std::string Readable(const PolicyRule& rule) {
  std::string text = rule.direction == TrafficDirection::kIngress ? "from " : "to ";
  if (rule.any_peer) text += "anywhere";
  const char* separator = "";
  for (const PodSet& peer : rule.peers) {
    text.append(separator).append(peer);
    separator = " or ";
  }
  for (const AddressBlock& block : rule.blocks) {
    text += separator;
    AppendReadable(text, block);
    separator = " or ";
  }
  text += ", ";
  if (rule.any_port) text += "any port";
  separator = "";
  for (const PortRange& range : rule.ports) {
    text += separator;
    AppendReadable(text, range);
    separator = " ";
  }
  return text;
}

}  // namespace kuryr::policy
