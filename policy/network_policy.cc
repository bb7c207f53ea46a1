#include "policy/network_policy.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "policy/policy_parts.h"

namespace kuryr::policy {
namespace {

void AddBlock(const PolicyField& field, PolicyBudget& budget, NetworkPolicyRule& rule) {
  field.AllowOnly({"cidr", "except"});
  AddressBlock block{.network = NetworkIn(field.At("cidr")), .except = {}};
  const auto exceptions = field.At("except").Items(budget);
  block.except.reserve(exceptions.size());
  for (const PolicyField& exception : exceptions) {
    const IpNetwork network = NetworkIn(exception);
    if (network.prefix_length <= block.network.prefix_length ||
        !block.network.Contains(network.address))
      exception.RefuseText("a part of " + block.network.ToString());
    block.except.push_back(network);
  }
  SortOnce(block.except);
  const std::vector<IpNetwork> networks = block.Networks();
  if (!budget.Take(networks.size())) field.Refuse(kMoreThanAllowed);
  rule.networks.insert(rule.networks.end(), networks.begin(), networks.end());
  rule.blocks.push_back(std::move(block));
}

void AddPeer(const PolicyField& field, PolicyBudget& budget, NetworkPolicyRule& rule) {
  field.AllowOnly({"podSelector", "namespaceSelector", "ipBlock"});
  const PolicyField pods = field.At("podSelector");
  const PolicyField namespaces = field.At("namespaceSelector");
  const PolicyField block = field.At("ipBlock");
  const bool selects = pods.is_there() || namespaces.is_there();
  if (selects == block.is_there())
    field.Refuse("needs an ipBlock, or else a podSelector, a namespaceSelector, or both of these");
  if (!selects) return AddBlock(block, budget, rule);
  PeerSelector peer{.namespaces = std::nullopt, .pods = LabelSelector(pods, budget)};
  if (namespaces.is_there()) peer.namespaces = LabelSelector(namespaces, budget);
  if (!budget.TakeSet(peer.ToString())) field.Refuse(kMoreThanAllowed);
  rule.peers.push_back(std::move(peer));
}

void AddPort(const PolicyField& field, NetworkPolicyRule& rule) {
  field.AllowOnly({"protocol", "port", "endPort"});
  const std::string protocol = ProtocolIn(field.At("protocol"));
  const PolicyField port = field.At("port");
  const PolicyField end = field.At("endPort");
  if (port.is_there() && port.is_string()) {
    if (end.is_there()) end.Refuse("needs a port that is a number");
    rule.named_ports.push_back({.protocol = protocol, .name = PortNameIn(port)});
    return;
  }
  if (!port.is_there() && end.is_there()) end.Refuse("needs a port");
  PortRange range{.protocol = protocol};
  if (port.is_there()) {
    range.first = range.last = static_cast<uint16_t>(port.Number(1, UINT16_MAX));
    if (end.is_there()) range.last = static_cast<uint16_t>(end.Number(range.first, UINT16_MAX));
  }
  rule.ports.push_back(std::move(range));
}

NetworkPolicyRule RuleOf(const PolicyField& field, TrafficDirection direction,
                         PolicyBudget& budget) {
  const char* key = direction == TrafficDirection::kIngress ? "from" : "to";
  field.AllowOnly({key, "ports"});
  NetworkPolicyRule rule{.direction = direction};
  const auto peers = field.At(key).Items(budget);
  rule.any_peer = peers.empty();
  for (const PolicyField& peer : peers) AddPeer(peer, budget, rule);
  const auto ports = field.At("ports").Items(budget);
  rule.any_port = ports.empty();
  for (const PolicyField& port : ports) AddPort(port, rule);
  SortOnce(rule);
  return rule;
}

/// Decodes one policy. A part that is not understood becomes a problem, and the rest goes on.
class Decoder {
 public:
  explicit Decoder(const nlohmann::json& object) : spec_(object, "$") {}

  NetworkPolicy Decode() {
    const bool is_known = problems_.Try([&] {
      spec_ = spec_.At("spec");
      if (spec_.is_there()) spec_.AllowOnly({"podSelector", "policyTypes", "ingress", "egress"});
    });
    const bool has_pods = problems_.Try([&] { DecodePods(spec_.At("podSelector")); });
    const bool has_types = problems_.Try([&] { DecodeTypes(); });
    if (!has_types) policy_.isolates_ingress = policy_.isolates_egress = true;
    if (is_known && has_pods && has_types) {
      if (policy_.isolates_ingress) DecodeRules("ingress", TrafficDirection::kIngress);
      if (policy_.isolates_egress) DecodeRules("egress", TrafficDirection::kEgress);
    }
    policy_.problem = problems_.ToString();
    return std::move(policy_);
  }

 private:
  void DecodePods(const PolicyField& field) {
    LabelSelector pods(field, budget_);
    const std::string text = pods.ToString();
    if (!budget_.TakeSet(text)) field.Refuse(kMoreThanAllowed);
    policy_.pods = std::move(pods);
    subject_bytes_ = text.size();
  }

  /// Without types, the API server sets Ingress, and Egress if there are rules for it.
  void DecodeTypes() {
    const auto types = spec_.At("policyTypes").Items(budget_);
    for (const PolicyField& type : types) {
      if (type.Text() == "Ingress") {
        policy_.isolates_ingress = true;
      } else if (type.Text() == "Egress") {
        policy_.isolates_egress = true;
      } else {
        type.RefuseText("Ingress or Egress");
      }
    }
    if (!types.empty()) return;
    policy_.isolates_ingress = true;
    policy_.isolates_egress = !spec_.At("egress").is_empty();
  }

  void DecodeRules(const char* key, TrafficDirection direction) {
    problems_.Try([&] {
      for (const PolicyField& field : spec_.At(key).Items(budget_)) {
        problems_.Try([&] {
          NetworkPolicyRule rule = RuleOf(field, direction, budget_);
          if (!TakeNames(budget_, subject_bytes_, rule)) field.Refuse(kMoreThanAllowed);
          policy_.rules.push_back(std::move(rule));
        });
      }
    });
  }

  PolicyField spec_;
  PolicyBudget budget_;
  PolicyProblems problems_;
  NetworkPolicy policy_;
  size_t subject_bytes_ = 0;
};

}  // namespace

std::string PeerSelector::ToString() const {
  std::string text = namespaces ? "namespaces=" + namespaces->ToString() + " " : "";
  return text.append("pods=").append(pods.ToString());
}

NetworkPolicy DecodeNetworkPolicy(const nlohmann::json& object) { return Decoder(object).Decode(); }

}  // namespace kuryr::policy
