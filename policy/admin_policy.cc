#include "policy/admin_policy.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "policy/policy_parts.h"

namespace kuryr::policy {
namespace {

constexpr int kFirst = -1;           ///< before all priorities that an object can have
constexpr int kMostPriority = 1000;  ///< of the API

/// "namespaces", or "pods" with both selectors; nullopt: the field has neither.
std::optional<PeerSelector> PodsIn(const PolicyField& field, PolicyBudget& budget) {
  const PolicyField namespaces = field.At("namespaces");
  const PolicyField pods = field.At("pods");
  if (namespaces.is_there() == pods.is_there()) return std::nullopt;
  PeerSelector selector;
  if (namespaces.is_there()) {
    selector.namespaces = LabelSelector(namespaces, budget);
  } else {
    pods.AllowOnly({"namespaceSelector", "podSelector"});
    selector.namespaces = LabelSelector(pods.At("namespaceSelector"), budget);
    selector.pods = LabelSelector(pods.At("podSelector"), budget);
  }
  if (!budget.TakeSet(selector.ToString())) field.Refuse(kMoreThanAllowed);
  return selector;
}

void AddAdminPeer(const PolicyField& field, PolicyBudget& budget, NetworkPolicyRule& rule) {
  field.AllowOnly({"namespaces", "pods", "networks"});
  const PolicyField networks = field.At("networks");
  auto pods = PodsIn(field, budget);
  const bool may_have_networks = rule.direction == TrafficDirection::kEgress;
  if (pods.has_value() == networks.is_there() || (networks.is_there() && !may_have_networks))
    field.Refuse("needs one of namespaces, pods and, in egress, networks");
  if (pods) {
    rule.peers.push_back(std::move(*pods));
    return;
  }
  const auto items = networks.Items(budget);
  rule.blocks.reserve(rule.blocks.size() + items.size());
  rule.networks.reserve(rule.networks.size() + items.size());
  for (const PolicyField& each : items) {
    const IpNetwork network = NetworkIn(each);
    rule.blocks.push_back({.network = network, .except = {}});
    rule.networks.push_back(network);
  }
}

void AddRange(const PolicyField& field, const char* first, const char* last,
              NetworkPolicyRule& rule) {
  field.AllowOnly({"protocol", first, last});
  PortRange range{.protocol = ProtocolIn(field.At("protocol"))};
  range.first = static_cast<uint16_t>(field.At(first).Number(1, UINT16_MAX));
  range.last = static_cast<uint16_t>(field.At(last).Number(range.first, UINT16_MAX));
  rule.ports.push_back(std::move(range));
}

void AddAdminPort(const PolicyField& field, NetworkPolicyRule& rule) {
  field.AllowOnly({"portNumber", "portRange", "namedPort"});
  const PolicyField number = field.At("portNumber");
  const PolicyField range = field.At("portRange");
  const PolicyField name = field.At("namedPort");
  if (int{number.is_there()} + int{range.is_there()} + int{name.is_there()} != 1)
    field.Refuse("needs one of portNumber, portRange and namedPort");
  if (number.is_there()) return AddRange(number, "port", "port", rule);
  if (range.is_there()) return AddRange(range, "start", "end", rule);
  const std::string text = PortNameIn(name);
  rule.named_ports.insert(rule.named_ports.end(), {{"sctp", text}, {"tcp", text}, {"udp", text}});
}

/// Decodes one policy. A part that is not understood becomes a problem, and the rest goes on.
class AdminDecoder {
 public:
  AdminDecoder(const nlohmann::json& object, PolicyTier tier) : spec_(object, "$") {
    policy_.tier = tier;
    policy_.namespaces = LabelSelector();
  }

  NetworkPolicy Decode() {
    bool is_known = problems_.Try([&] {
      spec_ = spec_.At("spec");
      spec_.AllowOnly({"priority", "subject", "ingress", "egress"});
    });
    is_known = problems_.Try([&] { DecodeSubject(spec_.At("subject")); }) && is_known;
    if (policy_.tier == PolicyTier::kAdmin)
      is_known = problems_.Try([&] { DecodePriority(); }) && is_known;
    DecodeRules("ingress", TrafficDirection::kIngress);
    DecodeRules("egress", TrafficDirection::kEgress);
    if (!is_known) Close();
    policy_.problem = problems_.ToString();
    return std::move(policy_);
  }

 private:
  void DecodeSubject(const PolicyField& field) {
    field.AllowOnly({"namespaces", "pods"});
    auto subject = PodsIn(field, budget_);
    if (!subject) field.Refuse("needs one of namespaces and pods");
    subject_bytes_ = subject->ToString().size();
    policy_.namespaces = std::move(subject->namespaces);
    policy_.pods = std::move(subject->pods);
  }

  void DecodePriority() {
    policy_.priority = kFirst;
    policy_.priority = static_cast<int>(spec_.At("priority").Number(0, kMostPriority));
  }

  void DecodeRules(const char* key, TrafficDirection direction) {
    const bool is_list = problems_.Try([&] {
      for (const PolicyField& field : spec_.At(key).Items(budget_)) {
        NetworkPolicyRule rule{.direction = direction};
        if (problems_.Try([&] { DecodeRule(field, rule); })) {
          policy_.rules.push_back(std::move(rule));
        } else if (rule.action != PolicyAction::kAllow) {
          policy_.rules.push_back(DenialOf(direction));
        }
      }
    });
    if (!is_list) policy_.rules.push_back(DenialOf(direction));
  }

  void DecodeRule(const PolicyField& field, NetworkPolicyRule& rule) {
    rule.action = PolicyAction::kDeny;
    rule.action = ActionIn(field.At("action"));
    const char* key = rule.direction == TrafficDirection::kIngress ? "from" : "to";
    field.AllowOnly({"name", "action", key, "ports"});
    const auto peers = field.At(key).Items(budget_);
    if (peers.empty()) field.At(key).Refuse("needs a peer");
    for (const PolicyField& peer : peers) AddAdminPeer(peer, budget_, rule);
    const auto ports = field.At("ports").Items(budget_);
    rule.any_port = ports.empty();
    for (const PolicyField& port : ports) AddAdminPort(port, rule);
    SortOnce(rule);
    if (!TakeNames(budget_, subject_bytes_, rule)) field.Refuse(kMoreThanAllowed);
  }

  [[nodiscard]] PolicyAction ActionIn(const PolicyField& field) const {
    if (field.Text() == "Allow") return PolicyAction::kAllow;
    if (field.Text() == "Deny") return PolicyAction::kDeny;
    if (field.Text() != "Pass" || policy_.tier == PolicyTier::kBaseline)
      field.RefuseText(policy_.tier == PolicyTier::kAdmin ? "Allow, Deny or Pass"
                                                          : "Allow or Deny");
    return PolicyAction::kPass;
  }

  static NetworkPolicyRule DenialOf(TrafficDirection direction) {
    NetworkPolicyRule rule{.direction = direction};
    rule.any_peer = true;
    rule.any_port = true;
    rule.action = PolicyAction::kDeny;
    return rule;
  }

  void Close() {
    std::erase_if(policy_.rules, [](const NetworkPolicyRule& rule) {
      return rule.action == PolicyAction::kAllow;
    });
    for (NetworkPolicyRule& rule : policy_.rules) rule.action = PolicyAction::kDeny;
  }

  NetworkPolicy policy_;
  PolicyField spec_;
  size_t subject_bytes_ = 0;  ///< of the subject's name
  PolicyProblems problems_;
  PolicyBudget budget_;
};

}  // namespace

NetworkPolicy DecodeAdminPolicy(const nlohmann::json& object, PolicyTier tier) {
  return AdminDecoder(object, tier).Decode();
}

}  // namespace kuryr::policy
