#include "controller/policy/network_policy.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace kuryr::controller {
namespace {

constexpr size_t kLongestPortName = 15;

template <typename T>
void SortOnce(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

std::string ProtocolOf(const PolicyField& field) {
  if (!field.is_there() || field.Text() == "TCP") return "tcp";
  if (field.Text() == "UDP") return "udp";
  if (field.Text() != "SCTP") field.RefuseText("TCP, UDP or SCTP");
  return "sctp";
}

/// IsValidPortName of Kubernetes, but for its rules on hyphens.
bool IsPortName(const std::string& text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return text.size() <= kLongestPortName && std::any_of(text.begin(), text.end(), is_letter) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

IpNetwork NetworkOf(const PolicyField& field) {
  const std::string& text = field.Text();
  const auto network = IpNetwork::Parse(text);
  if (!network || text.find('/') == std::string::npos) field.RefuseText("ADDRESS/LENGTH");
  return network->Masked();
}

AddressBlock BlockOf(const PolicyField& field, PolicyBudget& budget) {
  field.AllowOnly({"cidr", "except"});
  AddressBlock block{.network = NetworkOf(field.At("cidr")), .except = {}};
  const auto exceptions = field.At("except").Items(budget);
  block.except.reserve(exceptions.size());
  for (const PolicyField& exception : exceptions) {
    const IpNetwork network = NetworkOf(exception);
    if (network.prefix_length <= block.network.prefix_length ||
        !block.network.Contains(network.address))
      exception.RefuseText("a part of " + block.network.ToString());
    block.except.push_back(network);
  }
  SortOnce(block.except);
  return block;
}

void AddPeer(const PolicyField& field, PolicyBudget& budget, NetworkPolicyRule& rule) {
  field.AllowOnly({"podSelector", "namespaceSelector", "ipBlock"});
  const PolicyField pods = field.At("podSelector");
  const PolicyField namespaces = field.At("namespaceSelector");
  const PolicyField block = field.At("ipBlock");
  const bool selects = pods.is_there() || namespaces.is_there();
  if (selects == block.is_there())
    field.Refuse("needs an ipBlock, or else a podSelector, a namespaceSelector, or both of these");
  if (!selects) {
    rule.blocks.push_back(BlockOf(block, budget));
    return;
  }
  PeerSelector peer{.namespaces = std::nullopt, .pods = LabelSelector(pods, budget)};
  if (namespaces.is_there()) peer.namespaces = LabelSelector(namespaces, budget);
  rule.peers.push_back(std::move(peer));
}

void AddPort(const PolicyField& field, NetworkPolicyRule& rule) {
  field.AllowOnly({"protocol", "port", "endPort"});
  const std::string protocol = ProtocolOf(field.At("protocol"));
  const PolicyField port = field.At("port");
  const PolicyField end = field.At("endPort");
  if (port.is_there() && port.is_string()) {
    if (!IsPortName(port.Text())) port.RefuseText("a number, or a port's name");
    if (end.is_there()) end.Refuse("needs a port that is a number");
    rule.named_ports.push_back({.protocol = protocol, .name = port.Text()});
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
  SortOnce(rule.peers);
  SortOnce(rule.blocks);
  SortOnce(rule.ports);
  SortOnce(rule.named_ports);
  // Each named port of each peer is a set of its own.
  if (direction == TrafficDirection::kEgress &&
      !budget.Take(rule.peers.size() * rule.named_ports.size()))
    field.Refuse("has more named ports of peers than a policy may have");
  return rule;
}

/// Decodes one policy. A part that is not understood becomes a problem, and the rest goes on.
class Decoder {
 public:
  explicit Decoder(const nlohmann::json& object) : spec_(object, "$") {}

  NetworkPolicy Decode() {
    const bool is_known = Try([&] {
      spec_ = spec_.At("spec");
      if (spec_.is_there()) spec_.AllowOnly({"podSelector", "policyTypes", "ingress", "egress"});
    });
    const bool has_pods =
        Try([&] { policy_.pods = LabelSelector(spec_.At("podSelector"), budget_); });
    const bool has_types = Try([&] { DecodeTypes(); });
    if (!has_types) policy_.isolates_ingress = policy_.isolates_egress = true;
    if (is_known && has_pods && has_types) {
      if (policy_.isolates_ingress) DecodeRules("ingress", TrafficDirection::kIngress);
      if (policy_.isolates_egress) DecodeRules("egress", TrafficDirection::kEgress);
    }
    if (problems_ > 1)
      policy_.problem.append(" (and ").append(std::to_string(problems_ - 1)).append(" more)");
    return std::move(policy_);
  }

 private:
  template <typename Act>
  bool Try(const Act& act) {
    try {
      act();
      return true;
    } catch (const ParseError& e) {
      if (problems_++ == 0) policy_.problem = e.what();
      return false;
    }
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
    Try([&] {
      for (const PolicyField& rule : spec_.At(key).Items(budget_))
        Try([&] { policy_.rules.push_back(RuleOf(rule, direction, budget_)); });
    });
  }

  PolicyField spec_;
  PolicyBudget budget_;
  NetworkPolicy policy_;
  size_t problems_ = 0;
};

}  // namespace

NetworkPolicy DecodeNetworkPolicy(const nlohmann::json& object) { return Decoder(object).Decode(); }

}  // namespace kuryr::controller
