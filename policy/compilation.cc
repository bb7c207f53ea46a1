#include "policy/compilation.h"

#include <algorithm>
#include <utility>

#include "policy/policy_parts.h"

namespace kuryr::policy {

Compilation::Compilation(const PodSets& sets, const PolicyNodes& nodes, std::string name_space,
                         const NetworkPolicy& policy, const std::optional<PolicyNetworks>& networks)
    : sets_(sets),
      nodes_(nodes),
      name_space_(std::move(name_space)),
      policy_(policy),
      networks_(networks) {}

PodChoice Compilation::Isolated() const {
  PodChoice choice = Subject();
  if (networks_ && networks_->unknown) choice.networks = {kAnyNetwork};
  return choice;
}

PodChoice Compilation::Subject() const {
  return ChoiceOf({.namespaces = policy_.namespaces, .pods = policy_.pods});
}

PodChoice Compilation::ChoiceOf(const PeerSelector& peer) const {
  return {.name_space = peer.namespaces ? std::string() : name_space_,
          .namespaces = peer.namespaces,
          .pods = peer.pods,
          .networks = networks_ ? std::optional(networks_->names) : std::nullopt};
}

/// The pods whose ports the rule names: those that receive. A rule without peers is for all pods.
std::vector<PodChoice> Compilation::DividedBy(const NetworkPolicyRule& rule) const {
  if (rule.direction == TrafficDirection::kIngress) return {Subject()};
  if (rule.any_peer) return {ChoiceOf({.namespaces = LabelSelector(), .pods = {}})};
  std::vector<PodChoice> choices;
  choices.reserve(rule.peers.size());
  for (const PeerSelector& peer : rule.peers) choices.push_back(ChoiceOf(peer));
  return choices;
}

Compilation::Uses Compilation::Splits() const {
  Uses splits;
  for (const NetworkPolicyRule& rule : policy_.rules) {
    if (rule.named_ports.empty()) continue;
    for (const PodChoice& choice : DividedBy(rule)) {
      for (const PortName& port : rule.named_ports)
        splits.emplace(PodSetUse{.set = choice.name(), .port = port}, choice);
    }
  }
  return splits;
}

CompiledPolicy Compilation::Run() {
  const PodChoice isolated = Isolated();
  CompiledPolicy compiled{.subject = Whole(isolated),
                          .isolates_ingress = policy_.isolates_ingress,
                          .isolates_egress = policy_.isolates_egress,
                          .rules = {},
                          .tier = policy_.tier,
                          .priority = policy_.priority,
                          .networks = isolated.networks};
  for (const NetworkPolicyRule& rule : policy_.rules) {
    AddNumbers(rule, compiled);
    AddNames(rule, compiled);
  }
  if (policy_.tier != PolicyTier::kNetwork) return compiled;
  std::sort(compiled.rules.begin(), compiled.rules.end());
  compiled.rules.erase(std::unique(compiled.rules.begin(), compiled.rules.end()),
                       compiled.rules.end());
  return compiled;
}

PodSet Compilation::Whole(const PodChoice& choice) {
  const PodSet name = choice.name();
  wholes_.try_emplace({.set = name, .port = std::nullopt}, choice);
  return name;
}

PolicyRule Compilation::Begin(const NetworkPolicyRule& rule, PodSet subject) {
  return {.direction = rule.direction,
          .subject = std::move(subject),
          .peers = {},
          .blocks = {},
          .networks = {},
          .ports = {},
          .action = rule.action};
}

void Compilation::AddPeers(const NetworkPolicyRule& rule, PolicyRule& compiled) {
  compiled.any_peer = rule.any_peer;
  compiled.blocks = rule.blocks;
  compiled.networks = rule.networks;
  compiled.peers.reserve(rule.peers.size());
  for (const PeerSelector& peer : rule.peers) compiled.peers.push_back(Whole(ChoiceOf(peer)));
  std::sort(compiled.peers.begin(), compiled.peers.end());
}

/// False: the nodes are too many.
bool Compilation::AddNodes(const NetworkPolicyRule& rule, PolicyRule& compiled) {
  if (rule.nodes.empty()) return true;
  const std::vector<IpNetwork> addresses = nodes_.Chosen(rule.nodes);
  bytes_ += addresses.size() * (sizeof(AddressBlock) + sizeof(IpNetwork));
  if (bytes_ > kMostBytes) return false;
  for (const IpNetwork& address : addresses)
    compiled.blocks.push_back({.network = address, .except = {}});
  compiled.networks.insert(compiled.networks.end(), addresses.begin(), addresses.end());
  SortOnce(compiled.blocks);
  SortOnce(compiled.networks);
  return true;
}

void Compilation::AddNumbers(const NetworkPolicyRule& rule, CompiledPolicy& compiled) {
  if (!rule.any_port && rule.ports.empty()) return;
  PolicyRule added = Begin(rule, Whole(Subject()));
  AddPeers(rule, added);
  added.any_port = rule.any_port;
  added.ports = rule.ports;
  if (!AddNodes(rule, added)) {
    has_more_parts_ = true;
    if (rule.action == PolicyAction::kAllow) return;
    added = Begin(rule, Whole(Subject()));
    added.any_peer = added.any_port = true;
    added.action = PolicyAction::kDeny;
  }
  const bool has_peer = added.any_peer || !added.peers.empty() || !added.blocks.empty();
  if (has_peer) compiled.rules.push_back(std::move(added));
}

/// A rule that cannot have all its numbers denies its peers all ports.
void Compilation::AddDenial(const NetworkPolicyRule& rule, CompiledPolicy& compiled) {
  PolicyRule& added = compiled.rules.emplace_back(Begin(rule, Whole(Subject())));
  AddPeers(rule, added);
  added.any_port = true;
  added.action = PolicyAction::kDeny;
}

void Compilation::AddNames(const NetworkPolicyRule& rule, CompiledPolicy& compiled) {
  const bool is_ingress = rule.direction == TrafficDirection::kIngress;
  for (const PortName& port : rule.named_ports) {
    auto parts = PartsOf(rule, port);
    if (has_more_parts_ && rule.action != PolicyAction::kAllow) AddDenial(rule, compiled);
    if (parts.empty()) continue;
    PolicyRule model = Begin(rule, is_ingress ? PodSet() : Whole(Subject()));
    if (is_ingress) AddPeers(rule, model);
    for (auto& [number, sets] : parts) {
      PolicyRule& added = compiled.rules.emplace_back(model);
      added.ports = {{.protocol = port.protocol, .first = number, .last = number}};
      if (is_ingress) {
        added.subject = sets.front();
      } else {
        added.peers = std::move(sets);
        std::sort(added.peers.begin(), added.peers.end());
      }
    }
  }
}

/// About what a rule takes for one number of a named port, beside the name of that part.
size_t Compilation::BytesOfNumber(const NetworkPolicyRule& rule) const {
  size_t bytes = Subject().name().size() + sizeof(PolicyRule);
  if (rule.direction == TrafficDirection::kEgress) return bytes;
  bytes += rule.networks.size() * sizeof(IpNetwork);
  for (const PeerSelector& peer : rule.peers)
    bytes += ChoiceOf(peer).name().size() + sizeof(PodSet);
  for (const AddressBlock& block : rule.blocks)
    bytes += sizeof(AddressBlock) + block.except.size() * sizeof(IpNetwork);
  return bytes;
}

std::map<uint16_t, std::vector<PodSet>> Compilation::PartsOf(const NetworkPolicyRule& rule,
                                                             const PortName& port) {
  const size_t bytes_of_number = BytesOfNumber(rule);
  std::map<uint16_t, std::vector<PodSet>> parts;
  for (const PodChoice& choice : DividedBy(rule)) {
    const PodSet set = choice.name();
    for (const uint16_t number : sets_.NumbersOf(set, port)) {
      PodSet part = PartOf(set, port, number);
      bytes_ += bytes_of_number + part.size();
      if (bytes_ > kMostBytes) {
        has_more_parts_ = true;
        return parts;
      }
      parts[number].push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace kuryr::policy
