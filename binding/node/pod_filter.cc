#include "binding/node/pod_filter.h"

#include <linux/netlink.h>
#include <netinet/icmp6.h>
#include <netlink/socket.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "binding/netlink/nft_query.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/netlink/route_socket.h"

namespace kuryr::binding {
namespace {

using Addresses = PodFilter::Addresses;

constexpr const char* kFilterWhat = "change the policies' rules of nftables";

constexpr std::array kFamilies = {IpFamily::kIpv4, IpFamily::kIpv6};

/// One direction of pods' packets: the hook's chain, and the map from addresses to chains.
struct Way {
  const char* chain;
  const char* map;
  PacketEnd pod;  ///< the end of the packet that the map has
  PacketEnd peer;
};
constexpr Way kSent = {"from-pods", "senders", PacketEnd::kSource, PacketEnd::kDestination};
constexpr Way kReceived = {"to-pods", "receivers", PacketEnd::kDestination, PacketEnd::kSource};
constexpr const char* kToNode = "from-pods-to-node";
/// Each address of a pod with a chain, twice.
constexpr const char* kSelves = "selves";

/// The kernel's name of what there is one of for each family.
std::string Named(std::string_view name, IpFamily family) {
  return std::string(name).append(family == IpFamily::kIpv4 ? "-4" : "-6");
}

std::string SetName(const std::string& set, IpFamily family) {
  return Named(NameOfSet(set), family);
}

/// Of one family: std::set has IPv4 first.
template <typename Sorted>
std::vector<IpAddress> OfFamily(const Sorted& addresses, IpFamily family) {
  std::vector<IpAddress> found;
  std::ranges::copy_if(addresses, std::back_inserter(found),
                       [&](const IpAddress& address) { return address.family == family; });
  return found;
}

std::string TextOf(const FilterRule& rule) {
  std::string text;
  if (rule.family) text += Named("with", *rule.family) + " " + rule.set;
  for (const NftInterval& block : rule.blocks)
    text += " " + block.begin.ToString() + "-" + (block.end ? block.end->ToString() : "");
  if (rule.protocol) text += " protocol " + std::to_string(static_cast<int>(*rule.protocol));
  for (const NftPorts& ports : rule.ports)
    text += " " + std::to_string(ports.first) + "-" + std::to_string(ports.last);
  switch (rule.verdict) {
    case FilterRule::Verdict::kAccept:
      return text + ": accept";
    case FilterRule::Verdict::kDrop:
      return text + ": drop";
    case FilterRule::Verdict::kJump:
      return text + ": jump " + rule.jump;
    case FilterRule::Verdict::kReturn:
      return text + ": return";
  }
  return text;
}

/// A rule's user data is short.
std::string NoteOf(const FilterRule& rule) { return DigestOf(TextOf(rule)); }

void PutVerdict(nl_msg& message, const FilterRule& rule) {
  switch (rule.verdict) {
    case FilterRule::Verdict::kAccept:
      return PutAccept(message);
    case FilterRule::Verdict::kDrop:
      return PutDrop(message);
    case FilterRule::Verdict::kJump:
      return PutJump(message, rule.jump);
    case FilterRule::Verdict::kReturn:
      return PutReturn(message);
  }
}

void AddRule(NftBatch& batch, const std::string& chain, const Way& way, const FilterRule& rule) {
  std::optional<NftSet> blocks;
  std::optional<NftSet> ports;
  if (rule.family && rule.set.empty()) blocks = batch.AddSet(*rule.family, rule.blocks);
  if (!rule.ports.empty()) ports = batch.AddPortSet(rule.ports);
  batch.AddRule(chain, NoteOf(rule), [&](nl_msg& message) {
    if (rule.family) {
      MatchFamily(message, *rule.family);
      const NftSet peers =
          blocks.value_or(NftSet{.name = SetName(rule.set, *rule.family), .id = 0});
      MatchAddressIn(message, way.peer, *rule.family, peers.name, peers.id);
    }
    if (rule.protocol) MatchProtocol(message, static_cast<uint8_t>(*rule.protocol));
    if (ports) MatchPortIn(message, ports->name, ports->id);
    PutVerdict(message, rule);
  });
}

void AddPassing(NftBatch& batch, const char* chain, const std::string& note,
                const std::function<void(nl_msg&)>& match) {
  batch.AddRule(chain, note, [&](nl_msg& message) {
    match(message);
    PutAccept(message);
  });
}

/// The chain of a hook: what always passes, then the chain of the packet's pod.
void AddHookRules(NftBatch& batch, const char* chain, const Way& way) {
  AddPassing(batch, chain, "reply: accept", MatchReply);
  AddPassing(batch, chain, "related: accept", MatchRelated);
  for (const IpFamily family : kFamilies) {
    const std::string selves = Named(kSelves, family);
    const std::string map = Named(way.map, family);
    AddPassing(batch, chain, selves + ": accept",
               [&](nl_msg& message) { MatchToItselfIn(message, family, selves); });
    batch.AddRule(chain, map, [&](nl_msg& message) {
      MatchFamily(message, family);
      PutVerdictOf(message, way.pod, family, map);
    });
  }
}

/// The table with its hooks, and nothing of any pod.
void AddFrame(NftBatch& batch) {
  batch.AddTable();
  for (const IpFamily family : kFamilies) {
    batch.AddPairSet(Named(kSelves, family), family);
    for (const Way& way : {kSent, kReceived}) batch.AddVerdictMap(Named(way.map, family), family);
  }
  batch.AddForwardChain(kSent.chain, 0);
  // A verdict "accept" ends the chains of one priority.
  batch.AddForwardChain(kReceived.chain, 1);
  batch.AddInputChain(kToNode);
  AddHookRules(batch, kSent.chain, kSent);
  AddHookRules(batch, kReceived.chain, kReceived);
  for (const uint8_t type : {uint8_t{ND_NEIGHBOR_SOLICIT}, uint8_t{ND_NEIGHBOR_ADVERT}}) {
    AddPassing(batch, kToNode, "neighbour discovery " + std::to_string(type) + ": accept",
               [&](nl_msg& message) { MatchNeighbourDiscovery(message, type); });
  }
  AddHookRules(batch, kToNode, kSent);
}

std::set<std::string> SetsOf(const FilterChain& chain) {
  std::set<std::string> sets;
  for (const FilterRule& rule : chain.rules)
    if (!rule.set.empty()) sets.insert(rule.set);
  return sets;
}

void AddSet(NftBatch& batch, const std::string& set, const Addresses& addresses) {
  for (const IpFamily family : kFamilies) {
    batch.AddNamedSet(SetName(set, family), family);
    batch.AddAddresses(SetName(set, family), OfFamily(addresses, family));
  }
}

void ChangeSet(NftBatch& batch, const std::string& set, const Addresses& before,
               const Addresses& after) {
  std::vector<IpAddress> gone;
  std::vector<IpAddress> come;
  std::ranges::set_difference(before, after, std::back_inserter(gone));
  std::ranges::set_difference(after, before, std::back_inserter(come));
  for (const IpFamily family : kFamilies) {
    batch.DeleteAddresses(SetName(set, family), OfFamily(gone, family));
    batch.AddAddresses(SetName(set, family), OfFamily(come, family));
  }
}

const Way& WayOf(const FilterChain& chain) {
  return chain.pod == PacketEnd::kSource ? kSent : kReceived;
}

/// All chains are there before a rule leads to one.
void AddChains(NftBatch& batch, const FilterChains& chains) {
  for (const auto& [name, chain] : chains) batch.AddChain(name);
  for (const auto& [name, chain] : chains)
    for (const FilterRule& rule : chain->rules) AddRule(batch, name, WayOf(*chain), rule);
}

/// An element of a map cannot change: it goes, and another one comes.
void ChangeJumps(NftBatch& batch, const Way& way, const std::map<IpAddress, std::string>& before,
                 const std::map<IpAddress, std::string>& after) {
  std::vector<IpAddress> gone;
  for (const auto& [address, chain] : before) {
    const auto now = after.find(address);
    if (now == after.end() || now->second != chain) gone.push_back(address);
  }
  std::vector<NftJump> come;
  for (const auto& [address, chain] : after) {
    const auto then = before.find(address);
    if (then == before.end() || then->second != chain) come.push_back({address, chain});
  }
  for (const IpFamily family : kFamilies) {
    const std::string map = Named(way.map, family);
    std::vector<NftJump> jumps;
    std::ranges::copy_if(come, std::back_inserter(jumps),
                         [&](const NftJump& jump) { return jump.address.family == family; });
    batch.DeleteAddresses(map, OfFamily(gone, family));
    batch.AddJumps(map, jumps);
  }
}

Addresses PodsOf(const Filter& filter) {
  std::set<IpAddress> pods;
  for (const auto& [address, chain] : filter.senders) pods.insert(address);
  for (const auto& [address, chain] : filter.receivers) pods.insert(address);
  return {pods.begin(), pods.end()};
}

void ChangePods(NftBatch& batch, const Filter& before, const Filter& after) {
  ChangeJumps(batch, kSent, before.senders, after.senders);
  ChangeJumps(batch, kReceived, before.receivers, after.receivers);
  const Addresses then = PodsOf(before);
  const Addresses now = PodsOf(after);
  std::vector<IpAddress> gone;
  std::vector<IpAddress> come;
  std::ranges::set_difference(then, now, std::back_inserter(gone));
  std::ranges::set_difference(now, then, std::back_inserter(come));
  for (const IpFamily family : kFamilies) {
    batch.DeletePairs(Named(kSelves, family), OfFamily(gone, family));
    batch.AddPairs(Named(kSelves, family), OfFamily(come, family));
  }
}

std::vector<std::string> NotesOf(const FilterChain& chain) {
  std::vector<std::string> notes;
  std::ranges::transform(chain.rules, std::back_inserter(notes), NoteOf);
  return notes;
}

/// The addresses that the map of the way leads from.
std::set<IpAddress> AddressesOfJumps(const Way& way) {
  std::set<IpAddress> there;
  for (const IpFamily family : kFamilies)
    there.merge(AddressesIn(kPolicyTable, Named(way.map, family), kFilterWhat));
  return there;
}

using Jumps = std::map<IpAddress, std::string>;

bool HasJumps(const Way& way, const Jumps& jumps) {
  return std::ranges::equal(AddressesOfJumps(way), jumps, {}, {}, &Jumps::value_type::first);
}

bool HasChains(const std::map<std::string, std::vector<std::string>>& notes,
               const FilterChains& chains) {
  return std::ranges::all_of(chains, [&](const auto& chain) {
    const auto found = notes.find(chain.first);
    return chain.second->rules.empty() ||
           (found != notes.end() && found->second == NotesOf(*chain.second));
  });
}

}  // namespace

std::string NameOf(const FilterChain& chain) {
  std::string text;
  for (const FilterRule& rule : chain.rules) text += TextOf(rule) + "\n";
  return (chain.pod == PacketEnd::kSource ? "sent-" : "received-") + DigestOf(text);
}

std::string NameOfSet(const std::string& set) { return "pods-" + DigestOf(set); }

std::set<std::string> SetsOf(const Filter& filter) {
  std::set<std::string> sets;
  for (const auto& [name, chain] : filter.chains) sets.merge(SetsOf(*chain));
  return sets;
}

bool IsInKernel(const Filter& filter) {
  if (filter.empty()) return true;
  const auto has = [](const Way& way, const Jumps& jumps) {
    return jumps.empty() ||
           std::ranges::includes(AddressesOfJumps(way), jumps, {}, {}, &Jumps::value_type::first);
  };
  return HasChains(NotesOfTable(kPolicyTable, kFilterWhat), filter.chains) &&
         has(kSent, filter.senders) && has(kReceived, filter.receivers);
}

bool PodFilter::IsThere() const {
  if (!is_known_) return true;
  const auto notes = NotesOfTable(kPolicyTable, kFilterWhat);
  if (filter_.empty()) return notes.empty();
  const bool has_hooks =
      std::ranges::all_of(std::array{kSent.chain, kReceived.chain, kToNode},
                          [&](const char* chain) { return notes.contains(chain); });
  return has_hooks && HasChains(notes, filter_.chains) && HasJumps(kSent, filter_.senders) &&
         HasJumps(kReceived, filter_.receivers);
}

void PodFilter::Apply(const Filter& wanted, const AddressesOf& addresses_of,
                      const std::set<std::string>& changed) {
  const bool was_known = std::exchange(is_known_, false);
  if (wanted.empty()) {
    if (!was_known || !filter_.empty()) RemovePodFilter();
    sets_.clear();
  } else if (!was_known || filter_.empty()) {
    Rebuild(wanted, addresses_of);
  } else {
    Change(wanted, addresses_of, changed);
  }
  filter_ = wanted;
  is_known_ = true;
}

void PodFilter::Rebuild(const Filter& wanted, const AddressesOf& addresses_of) {
  NftBatch batch(kPolicyTable);
  // It may not be there, and then it cannot be deleted.
  batch.AddTable();
  batch.DeleteTable();
  AddFrame(batch);
  sets_.clear();
  for (const std::string& set : SetsOf(wanted)) {
    sets_[set] = addresses_of(set);
    AddSet(batch, set, sets_[set]);
  }
  AddChains(batch, wanted.chains);
  ChangePods(batch, {}, wanted);
  Commit(batch);
}

void PodFilter::Change(const Filter& wanted, const AddressesOf& addresses_of,
                       const std::set<std::string>& changed) {
  NftBatch batch(kPolicyTable);
  const std::set<std::string> sets = SetsOf(wanted);
  for (const std::string& set : sets) {
    const bool is_new = !sets_.contains(set);
    if (!is_new && !changed.contains(set)) continue;
    Addresses now = addresses_of(set);
    if (is_new) {
      AddSet(batch, set, now);
    } else {
      ChangeSet(batch, set, sets_[set], now);
    }
    sets_[set] = std::move(now);
  }
  FilterChains come;
  for (const auto& [name, chain] : wanted.chains)
    if (!filter_.chains.contains(name)) come.emplace(name, chain);
  AddChains(batch, come);
  ChangePods(batch, filter_, wanted);
  FilterChains gone;
  for (const auto& [name, chain] : filter_.chains)
    if (!wanted.chains.contains(name)) gone.emplace(name, chain);
  // A chain that a rule leads to cannot go.
  for (const auto& [name, chain] : gone) batch.FlushChain(name);
  for (const auto& [name, chain] : gone) batch.DeleteChain(name);
  for (auto set = sets_.begin(); set != sets_.end();) {
    if (sets.contains(set->first)) {
      ++set;
      continue;
    }
    for (const IpFamily family : kFamilies) batch.DeleteSet(SetName(set->first, family));
    set = sets_.erase(set);
  }
  if (!batch.empty()) Commit(batch);
}

void PodFilter::Commit(NftBatch& batch) {
  if (!socket_) {
    socket_ = OpenNlSocket(NETLINK_NETFILTER);
    port_ = nl_socket_get_local_port(socket_.get());
  }
  CheckAnswer(batch.Commit(*socket_, kFilterWhat), kFilterWhat);
}

void DropWaitingPackets(const std::set<IpAddress>& pod) {
  RouteSocket host;
  for (const IpAddress& address : pod)
    if (const auto link = host.FindOutputLink(address)) host.ForgetNeighbour(*link, address);
}

bool RemovePodFilter() {
  return RemoveNftTable(kPolicyTable, "remove the policies' rules of nftables");
}

}  // namespace kuryr::binding
