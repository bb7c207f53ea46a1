#include "controller/policy/network_policy.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace kuryr::controller {
namespace {

constexpr size_t kLongestPortName = 15;
constexpr const char* kTooMuch = "is more than a policy may have";

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

void AddBlock(const PolicyField& field, PolicyBudget& budget, NetworkPolicyRule& rule) {
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
  const std::vector<IpNetwork> networks = block.Networks();
  if (!budget.Take(networks.size())) field.Refuse(kTooMuch);
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
  if (!budget.TakeSet(peer.ToString())) field.Refuse(kTooMuch);
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
  SortOnce(rule.networks);
  SortOnce(rule.ports);
  SortOnce(rule.named_ports);
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
    const bool has_pods = Try([&] { DecodePods(spec_.At("podSelector")); });
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

  void DecodePods(const PolicyField& field) {
    LabelSelector pods(field, budget_);
    const std::string text = pods.ToString();
    if (!budget_.TakeSet(text)) field.Refuse(kTooMuch);
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
    Try([&] {
      for (const PolicyField& field : spec_.At(key).Items(budget_)) {
        Try([&] {
          NetworkPolicyRule rule = RuleOf(field, direction, budget_);
          if (!TakeNames(rule)) field.Refuse(kTooMuch);
          policy_.rules.push_back(std::move(rule));
        });
      }
    });
  }

  /// The rule names its subject, and each of its named ports divides a set: the subject, or a peer.
  bool TakeNames(const NetworkPolicyRule& rule) {
    if (!budget_.TakeName(subject_bytes_)) return false;
    const auto divide = [&](size_t bytes) {
      return std::all_of(rule.named_ports.begin(), rule.named_ports.end(),
                         [&](const PortName& /*port*/) { return budget_.TakeName(bytes); });
    };
    if (rule.direction == TrafficDirection::kIngress || rule.any_peer)
      return divide(subject_bytes_);
    return rule.named_ports.empty() ||
           std::all_of(rule.peers.begin(), rule.peers.end(),
                       [&](const PeerSelector& peer) { return divide(peer.ToString().size()); });
  }

  PolicyField spec_;
  PolicyBudget budget_;
  NetworkPolicy policy_;
  size_t subject_bytes_ = 0;
  size_t problems_ = 0;
};

}  // namespace

std::string PeerSelector::ToString() const {
  std::string text = namespaces ? "namespaces=" + namespaces->ToString() + " " : "";
  return text.append("pods=").append(pods.ToString());
}

NetworkPolicy DecodeNetworkPolicy(const nlohmann::json& object) { return Decoder(object).Decode(); }

}  // namespace kuryr::controller
