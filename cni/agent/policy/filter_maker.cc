#include "cni/agent/policy/filter_maker.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace kuryr::cni {
namespace {

using binding::FilterChain;
using binding::FilterRule;
using binding::NftPorts;
using policy::CompiledPolicy;
using policy::PolicyAction;
using policy::PolicyRule;
using policy::PolicyTier;
using policy::PortRange;
using policy::TrafficDirection;
using Sets = std::set<policy::PodSet>;
using Protocol = FilterRule::Protocol;

constexpr std::array kFamilies = {IpFamily::kIpv4, IpFamily::kIpv6};

/// The rule for each way to be a peer, without ports and verdict.
std::vector<FilterRule> PeersOf(const PolicyRule& rule) {
  if (rule.any_peer) return {FilterRule()};
  std::vector<FilterRule> peers;
  for (const IpFamily family : kFamilies) {
    for (const policy::PodSet& set : rule.peers) peers.push_back({.family = family, .set = set});
    auto blocks = binding::IntervalsOf(rule.networks, family);
    if (!blocks.empty()) peers.push_back({.family = family, .blocks = std::move(blocks)});
  }
  return peers;
}

std::optional<Protocol> ProtocolOf(const std::string& name) {
  if (name == "tcp") return Protocol::kTcp;
  if (name == "udp") return Protocol::kUdp;
  if (name == "sctp") return Protocol::kSctp;
  return std::nullopt;
}

/// The ranges of a protocol that touch are one. No range: any port.
std::vector<NftPorts> Joined(std::vector<NftPorts> ranges) {
  std::ranges::sort(ranges, {}, &NftPorts::first);
  std::vector<NftPorts> joined;
  for (const NftPorts& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  if (joined == std::vector<NftPorts>{{}}) joined.clear();
  return joined;
}

/// The rule for each protocol, without peers and verdict.
std::vector<FilterRule> PortsOf(const PolicyRule& rule) {
  if (rule.any_port) return {FilterRule()};
  std::map<Protocol, std::vector<NftPorts>> ranges;
  for (const PortRange& range : rule.ports) {
    if (const auto protocol = ProtocolOf(range.protocol))
      ranges[*protocol].push_back({range.first, range.last});
  }
  std::vector<FilterRule> ports;
  ports.reserve(ranges.size());
  for (auto& [protocol, each] : ranges)
    ports.push_back({.protocol = protocol, .ports = Joined(std::move(each))});
  return ports;
}

FilterRule::Verdict VerdictOf(PolicyAction action) {
  switch (action) {
    case PolicyAction::kAllow:
      return FilterRule::Verdict::kAccept;
    case PolicyAction::kDeny:
      return FilterRule::Verdict::kDrop;
    case PolicyAction::kPass:
      return FilterRule::Verdict::kReturn;
  }
  return FilterRule::Verdict::kDrop;
}

/// The chains of pods that are in the same sets.
class PodChains {
 public:
  PodChains(const policy::PolicyVerdicts& policies, const Sets& sets, binding::FilterChains& all)
      : policies_(policies), sets_(sets), all_(all) {}

  /// The chain's name; nullopt: no policy is for this direction of the pods' packets.
  std::optional<std::string> Add(TrafficDirection direction) {
    FilterChain chain = NewChain(direction);
    AddAdmins(direction, chain);
    bool isolates = false;
    for (const auto& [name, policy] : policies_.policies()) {
      if (policy.tier != PolicyTier::kNetwork) continue;
      AddOwnChain(policy, direction, chain);
      isolates = isolates || (sets_.contains(policy.subject) && Isolates(policy, direction));
    }
    if (isolates) {
      chain.rules.push_back({.verdict = FilterRule::Verdict::kDrop});
    } else {
      AddTier(PolicyTier::kBaseline, direction, chain);
    }
    return chain.rules.empty() ? std::nullopt : std::optional(Keep(std::move(chain)));
  }

 private:
  static FilterChain NewChain(TrafficDirection direction) {
    const bool sends = direction == TrafficDirection::kEgress;
    return {.pod = sends ? binding::PacketEnd::kSource : binding::PacketEnd::kDestination,
            .rules = {}};
  }

  void AddRules(const CompiledPolicy& policy, TrafficDirection direction,
                FilterChain& chain) const {
    for (const PolicyRule& rule : policy.rules) {
      if (rule.direction != direction || !sets_.contains(rule.subject)) continue;
      for (const FilterRule& peer : PeersOf(rule)) {
        for (FilterRule each : PortsOf(rule)) {
          each.family = peer.family;
          each.set = peer.set;
          each.blocks = peer.blocks;
          each.verdict = VerdictOf(rule.action);
          chain.rules.push_back(std::move(each));
        }
      }
    }
  }

  /// Pods share the chain, and it stays as it is when another policy changes.
  void AddOwnChain(const CompiledPolicy& policy, TrafficDirection direction, FilterChain& chain) {
    FilterChain own = NewChain(direction);
    AddRules(policy, direction, own);
    AddJump(std::move(own), chain);
  }

  void AddTier(PolicyTier tier, TrafficDirection direction, FilterChain& chain) const {
    for (const std::string& name : policies_.OrderOf(tier))
      AddRules(policies_.policies().at(name), direction, chain);
  }

  /// Their chain is one of its own, so that what is passed on leaves it alone.
  void AddAdmins(TrafficDirection direction, FilterChain& chain) {
    FilterChain admins = NewChain(direction);
    AddTier(PolicyTier::kAdmin, direction, admins);
    AddJump(std::move(admins), chain);
  }

  void AddJump(FilterChain&& to, FilterChain& chain) {
    if (to.rules.empty()) return;
    chain.rules.push_back({.verdict = FilterRule::Verdict::kJump, .jump = Keep(std::move(to))});
  }

  std::string Keep(FilterChain&& chain) {
    std::string name = binding::NameOf(chain);
    all_.try_emplace(name, std::make_shared<FilterChain>(std::move(chain)));
    return name;
  }

  const policy::PolicyVerdicts& policies_;
  const Sets& sets_;
  binding::FilterChains& all_;
};

bool Selects(const CompiledPolicy& policy, const Sets& sets) {
  return sets.contains(policy.subject) ||
         std::ranges::any_of(policy.rules,
                             [&](const PolicyRule& rule) { return sets.contains(rule.subject); });
}

}  // namespace

void FilterMaker::Forget(const policy::PolicyVerdicts& policies,
                         const policy::PolicyChanges& changes) {
  for (const auto& [name, after] : changes.policies) {
    const auto before = policies.policies().find(name);
    std::erase_if(kept_, [&](const auto& kept) {
      return (before != policies.policies().end() && Selects(before->second, kept.first)) ||
             (after && Selects(*after, kept.first));
    });
  }
}

binding::Filter FilterMaker::Make(const policy::PolicyVerdicts& policies, const LocalPods& pods) {
  std::map<Sets, LocalPods> alike;
  for (const auto& [uid, addresses] : pods) {
    const auto member = policies.pods().find(policy::MemberOf(uid, ""));
    if (member != policies.pods().end()) alike[member->second].emplace(uid, addresses);
  }
  std::erase_if(kept_, [&](const auto& kept) { return !alike.contains(kept.first); });
  binding::Filter filter;
  for (const auto& [sets, members] : alike) {
    const auto [kept, is_new] = kept_.try_emplace(sets);
    Chains& chains = kept->second;
    if (is_new) {
      PodChains maker(policies, sets, chains.all);
      chains.sent = maker.Add(TrafficDirection::kEgress);
      chains.received = maker.Add(TrafficDirection::kIngress);
    }
    filter.chains.insert(chains.all.begin(), chains.all.end());
    for (const auto& [uid, addresses] : members) {
      for (const IpAddress& address : addresses) {
        if (chains.sent) filter.senders[address] = *chains.sent;
        if (chains.received) filter.receivers[address] = *chains.received;
      }
    }
  }
  return filter;
}

}  // namespace kuryr::cni
