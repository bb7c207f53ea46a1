#include "policy/admin_policy.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "policy/policy_parts.h"

namespace kuryr::policy {
namespace {

constexpr int kFirst = -1;           ///< before all priorities that an object can have
constexpr int kMostPriority = 1000;  ///< of the API
constexpr int kLast = kMostPriority + 1;

/// What the versions of the API call the same things.
struct Words {
  const char* allow;
  const char* ports;
};

Words WordsOf(const AdminKind& kind) {
  return kind.tier ? Words{.allow = "Allow", .ports = "ports"}
                   : Words{.allow = "Accept", .ports = "protocols"};
}

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

void AddNetworks(const PolicyField& field, PolicyBudget& budget, NetworkPolicyRule& rule) {
  const auto items = field.Items(budget);
  if (items.empty()) field.Refuse("needs a network");
  rule.blocks.reserve(rule.blocks.size() + items.size());
  rule.networks.reserve(rule.networks.size() + items.size());
  for (const PolicyField& each : items) {
    const IpNetwork network = NetworkIn(each);
    rule.blocks.push_back({.network = network, .except = {}});
    rule.networks.push_back(network);
  }
}

void AddAdminPeer(const PolicyField& field, PolicyBudget& budget, NetworkPolicyRule& rule) {
  if (field.At("domainNames").is_there())
    field.At("domainNames").Refuse("is not supported; name their addresses in networks");
  field.AllowOnly({"namespaces", "pods", "networks", "nodes"});
  const PolicyField networks = field.At("networks");
  const PolicyField nodes = field.At("nodes");
  auto pods = PodsIn(field, budget);
  const int kinds = int{pods.has_value()} + int{networks.is_there()} + int{nodes.is_there()};
  if (kinds != 1 || (!pods && rule.direction == TrafficDirection::kIngress))
    field.Refuse("needs one of namespaces, pods and, in egress, networks and nodes");
  if (pods) {
    rule.peers.push_back(std::move(*pods));
  } else if (nodes.is_there()) {
    rule.nodes.emplace_back(nodes, budget);
  } else {
    AddNetworks(networks, budget, rule);
  }
}

void AddName(const PolicyField& field, NetworkPolicyRule& rule) {
  const std::string text = PortNameIn(field);
  rule.named_ports.insert(rule.named_ports.end(), {{"sctp", text}, {"tcp", text}, {"udp", text}});
}

/// The numbers are members of `field`, by these keys.
void AddRange(const PolicyField& field, std::string protocol,
              std::pair<const char*, const char*> keys, NetworkPolicyRule& rule) {
  PortRange range{.protocol = std::move(protocol)};
  range.first = static_cast<uint16_t>(field.At(keys.first).Number(1, UINT16_MAX));
  range.last = static_cast<uint16_t>(field.At(keys.second).Number(range.first, UINT16_MAX));
  rule.ports.push_back(std::move(range));
}

/// An item of `ports` of v1alpha1.
void AddAdminPort(const PolicyField& field, NetworkPolicyRule& rule) {
  field.AllowOnly({"portNumber", "portRange", "namedPort"});
  const PolicyField number = field.At("portNumber");
  const PolicyField range = field.At("portRange");
  const PolicyField name = field.At("namedPort");
  if (int{number.is_there()} + int{range.is_there()} + int{name.is_there()} != 1)
    field.Refuse("needs one of portNumber, portRange and namedPort");
  if (name.is_there()) return AddName(name, rule);
  const auto add = [&](const PolicyField& ports, const char* first, const char* last) {
    ports.AllowOnly({"protocol", first, last});
    AddRange(ports, ProtocolIn(ports.At("protocol")), {first, last}, rule);
  };
  if (number.is_there()) return add(number, "port", "port");
  add(range, "start", "end");
}

/// The destinationPort of a protocol. A protocol without one may have a member that this API server
/// does not know, and has dropped.
void AddDestination(const PolicyField& field, const char* protocol, NetworkPolicyRule& rule) {
  field.AllowOnly({"destinationPort"});
  const PolicyField port = field.At("destinationPort");
  port.AllowOnly({"number", "range"});
  const PolicyField range = port.At("range");
  if (range.is_there() == port.At("number").is_there())
    port.Refuse("needs one of number and range");
  if (!range.is_there()) return AddRange(port, protocol, {"number", "number"}, rule);
  range.AllowOnly({"start", "end"});
  AddRange(range, protocol, {"start", "end"}, rule);
}

/// An item of `protocols` of v1alpha2.
void AddProtocol(const PolicyField& field, NetworkPolicyRule& rule) {
  constexpr std::array kProtocols = {"tcp", "udp", "sctp"};
  field.AllowOnly({"tcp", "udp", "sctp", "destinationNamedPort"});
  const PolicyField name = field.At("destinationNamedPort");
  const auto count = std::count_if(kProtocols.begin(), kProtocols.end(), [&](const char* protocol) {
    return field.At(protocol).is_there();
  });
  if (count + int{name.is_there()} != 1)
    field.Refuse("needs one of tcp, udp, sctp and destinationNamedPort");
  if (name.is_there()) return AddName(name, rule);
  for (const char* protocol : kProtocols) {
    if (field.At(protocol).is_there()) AddDestination(field.At(protocol), protocol, rule);
  }
}

/// Decodes one policy. A part that is not understood becomes a problem, and the rest goes on.
class AdminDecoder {
 public:
  AdminDecoder(const nlohmann::json& object, const AdminKind& kind)
      : kind_(kind), words_(WordsOf(kind)), spec_(object, "$") {
    policy_.tier = kind.tier.value_or(PolicyTier::kAdmin);
    policy_.namespaces = LabelSelector();
  }

  NetworkPolicy Decode() {
    bool is_known = problems_.Try([&] { DecodeSpec(); });
    is_known = problems_.Try([&] { DecodeSubject(spec_.At("subject")); }) && is_known;
    is_known = problems_.Try([&] { DecodeTier(); }) && is_known;
    is_known = problems_.Try([&] { DecodePriority(); }) && is_known;
    DecodeRules("ingress", TrafficDirection::kIngress);
    DecodeRules("egress", TrafficDirection::kEgress);
    if (!is_known) Close();
    policy_.problem = problems_.ToString();
    return std::move(policy_);
  }

 private:
  void DecodeSpec() {
    spec_ = spec_.At("spec");
    if (kind_.tier) return spec_.AllowOnly({"priority", "subject", "ingress", "egress"});
    spec_.AllowOnly({"tier", "priority", "subject", "ingress", "egress"});
  }

  void DecodeSubject(const PolicyField& field) {
    field.AllowOnly({"namespaces", "pods"});
    auto subject = PodsIn(field, budget_);
    if (!subject) field.Refuse("needs one of namespaces and pods");
    subject_bytes_ = subject->ToString().size();
    policy_.namespaces = std::move(subject->namespaces);
    policy_.pods = std::move(subject->pods);
  }

  void DecodeTier() {
    if (kind_.tier) return;
    const PolicyField tier = spec_.At("tier");
    if (tier.Text() == "Baseline") {
      policy_.tier = PolicyTier::kBaseline;
    } else if (tier.Text() != "Admin") {
      tier.RefuseText("Admin or Baseline");
    }
  }

  /// The BaselineAdminNetworkPolicy has none, and comes behind those that replace it.
  void DecodePriority() {
    policy_.priority = kind_.tier == PolicyTier::kBaseline ? kLast : kFirst;
    if (policy_.priority == kFirst)
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
    field.AllowOnly({"name", "action", key, words_.ports});
    const auto peers = field.At(key).Items(budget_);
    if (peers.empty()) field.At(key).Refuse("needs a peer");
    for (const PolicyField& peer : peers) AddAdminPeer(peer, budget_, rule);
    DecodePorts(field.At(words_.ports), rule);
    SortOnce(rule);
    if (!TakeNames(budget_, subject_bytes_, rule)) field.Refuse(kMoreThanAllowed);
  }

  void DecodePorts(const PolicyField& field, NetworkPolicyRule& rule) {
    const auto ports = field.Items(budget_);
    rule.any_port = ports.empty();
    if (kind_.tier) {
      for (const PolicyField& port : ports) AddAdminPort(port, rule);
      return;
    }
    if (field.is_there() && ports.empty()) field.Refuse("needs a protocol");
    for (const PolicyField& protocol : ports) AddProtocol(protocol, rule);
  }

  [[nodiscard]] PolicyAction ActionIn(const PolicyField& field) const {
    const bool passes = kind_.tier != PolicyTier::kBaseline;
    if (field.Text() == words_.allow) return PolicyAction::kAllow;
    if (field.Text() == "Deny") return PolicyAction::kDeny;
    if (field.Text() != "Pass" || !passes)
      field.RefuseText(words_.allow + std::string(passes ? ", Deny or Pass" : " or Deny"));
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

  const AdminKind& kind_;
  const Words words_;
  NetworkPolicy policy_;
  PolicyField spec_;
  size_t subject_bytes_ = 0;  ///< of the subject's name
  PolicyProblems problems_;
  PolicyBudget budget_;
};

}  // namespace

const AdminKind* FindAdminKind(const std::string& kind) noexcept {
  const auto* const found = std::find_if(kAdminKinds.begin(), kAdminKinds.end(),
                                         [&](const AdminKind& each) { return kind == each.kind; });
  return found == kAdminKinds.end() ? nullptr : found;
}

NetworkPolicy DecodeAdminPolicy(const nlohmann::json& object, const AdminKind& kind) {
  return AdminDecoder(object, kind).Decode();
}

}  // namespace kuryr::policy
