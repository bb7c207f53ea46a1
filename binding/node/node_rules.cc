#include "binding/node/node_rules.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "binding/netlink/nft_batch.h"
#include "binding/netlink/nft_message.h"
#include "binding/netlink/nft_query.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/node/node_part.h"

namespace kuryr::binding {
namespace {

constexpr const char* kMasqueradeChain = "masquerade-pods";
constexpr const char* kRedirectChain = "drop-redirects";
constexpr const char* kForgedChain = "drop-forged";
constexpr const char* kWhat = "make the node's rules of nftables";

/// One rule: its note says all of it.
struct NodeRule {
  std::string note;
  IpFamily family = IpFamily::kIpv4;
  std::vector<NftInterval> inside;  ///< the addresses of its set; empty: the rule has no set
  std::function<void(nl_msg& rule, const std::optional<NftSet>& set)> fill;
};

/// Stands in a note for a set of any size.
std::string TextOf(const std::vector<NftInterval>& intervals) {
  std::string bytes;
  const auto add = [&](const IpAddress& address) {
    bytes.append(address.bytes.begin(), address.bytes.begin() + address.size());
  };
  for (const NftInterval& interval : intervals) {
    add(interval.begin);
    add(interval.end.value_or(IpAddress{.family = interval.begin.family}));
  }
  return Hex(Hash(bytes), 16);
}

std::vector<IpNetwork> OwnNetworks(const NodePlan& plan) {
  std::vector<IpNetwork> networks = plan.port.Networks();
  std::sort(networks.begin(), networks.end());
  networks.erase(std::unique(networks.begin(), networks.end()), networks.end());
  return networks;
}

/// The destinations that see a pod's own address. Other nodes are none: each could say of any
/// address that it is its own.
std::vector<IpNetwork> InsideOf(const NodePlan& plan, const std::vector<RemoteNetwork>& remotes) {
  std::vector<IpNetwork> inside = OwnNetworks(plan);
  for (const RemoteNetwork& remote : remotes)
    if (remote.refused.empty()) inside.push_back(remote.network);
  const auto add = [&](const IpAddress& address) {
    inside.push_back({address, static_cast<uint8_t>(address.size() * 8)});
  };
  for (const IpAddress& address : plan.addresses) add(address);
  const std::vector<IpNetwork>& named = plan.options.non_masquerade_cidrs;
  inside.insert(inside.end(), named.begin(), named.end());
  for (const char* multicast : {"224.0.0.0/4", "ff00::/8"})
    inside.push_back(IpNetwork::Parse(multicast).value());
  return inside;
}

NodeRule MasqueradeOutside(const IpNetwork& pods, const std::vector<NftInterval>& inside) {
  return {.note = pods.ToString() + " to outside " + TextOf(inside) + ": masquerade",
          .family = pods.address.family,
          .inside = inside,
          .fill = [pods](nl_msg& rule, const std::optional<NftSet>& set) {
            MatchFamily(rule, pods.address.family);
            MatchSource(rule, pods);
            MatchDestinationOutside(rule, pods.address.family, set.value().name, set->id);
            PutMasquerade(rule);
          }};
}

/// Behind a gateway, a pod answers another one directly, past the node that translated the address
/// of a Service: such packets come from the node.
NodeRule MasqueradeTranslated(const IpNetwork& pods) {
  return {.note = pods.ToString() + " to itself, translated: masquerade",
          .family = pods.address.family,
          .fill = [pods](nl_msg& rule, const std::optional<NftSet>& /*set*/) {
            MatchFamily(rule, pods.address.family);
            MatchSource(rule, pods);
            MatchDestination(rule, pods);
            MatchTranslated(rule);
            PutMasquerade(rule);
          }};
}

/// Packets from anywhere to pods that would answer past this node: other nodes' pods behind a
/// gateway, and all pods of a flat pool.
NodeRule MasqueradeTranslatedTo(IpFamily family, const std::vector<NftInterval>& pods) {
  return {.note = "to pods " + TextOf(pods) + ", translated: masquerade",
          .family = family,
          .inside = pods,
          .fill = [family](nl_msg& rule, const std::optional<NftSet>& set) {
            MatchFamily(rule, family);
            MatchAddressIn(rule, PacketEnd::kDestination, family, set.value().name, set->id);
            MatchTranslated(rule);
            PutMasquerade(rule);
          }};
}

/// The networks to which the management port's gateway leads.
std::vector<IpNetwork> JoinedBy(const std::vector<RemoteNetwork>& remotes) {
  std::vector<IpNetwork> joined;
  for (const RemoteNetwork& remote : remotes)
    if (remote.refused.empty() && remote.is_joined) joined.push_back(remote.network);
  return joined;
}

std::vector<NodeRule> MasqueradeRules(const NodePlan& plan) {
  std::vector<NodeRule> rules;
  const std::vector<RemoteNetwork> remotes = RemoteNetworksOf(plan);
  const std::vector<IpNetwork> inside = InsideOf(plan, remotes);
  const std::vector<IpNetwork> joined = JoinedBy(remotes);
  for (const IpFamily family : {IpFamily::kIpv4, IpFamily::kIpv6}) {
    const auto pods = IntervalsOf(joined, family);
    if (!pods.empty()) rules.push_back(MasqueradeTranslatedTo(family, pods));
  }
  for (const IpNetwork& pods : OwnNetworks(plan)) {
    const IpFamily family = pods.address.family;
    const bool is_flat =
        std::any_of(remotes.begin(), remotes.end(),
                    [&](const RemoteNetwork& remote) { return remote.network == pods; });
    if (is_flat) {
      rules.push_back(MasqueradeTranslatedTo(family, IntervalsOf(std::span(&pods, 1), family)));
    } else if (plan.port.GatewayOf(family)) {
      rules.push_back(MasqueradeTranslated(pods));
    }
    if (plan.options.masquerade)
      rules.push_back(MasqueradeOutside(pods, IntervalsOf(inside, family)));
  }
  return rules;
}

/// Pods of one node are on one link and must not learn to go past the node. The kernel tells them
/// so where "conf/all/send_redirects" is on, whatever the link's own setting says.
std::vector<NodeRule> RedirectRules(const NodePlan& plan) {
  std::vector<NodeRule> rules;
  for (const IpFamily family : {IpFamily::kIpv4, IpFamily::kIpv6}) {
    const char* protocol = family == IpFamily::kIpv4 ? " icmp" : " icmpv6";
    rules.push_back({.note = plan.port.name + protocol + " redirect: drop",
                     .family = family,
                     .fill = [family, link = plan.port.name](nl_msg& rule, const auto& /*set*/) {
                       MatchOutput(rule, link);
                       MatchRedirect(rule, family);
                       PutDrop(rule);
                     }});
  }
  return rules;
}

/// The networks whose pods' packets come to this node by the management port alone. Those of other
/// nodes do where a gateway joins them, unless their nodes may send them out unmasqueraded. A flat
/// pool's may come by a router of its link.
std::vector<IpNetwork> BehindPort(const NodePlan& plan) {
  const std::vector<RemoteNetwork> remotes = RemoteNetworksOf(plan);
  std::vector<IpNetwork> behind;
  if (plan.options.masquerade && plan.options.non_masquerade_cidrs.empty())
    behind = JoinedBy(remotes);
  for (const IpNetwork& own : OwnNetworks(plan)) {
    const bool is_flat =
        std::any_of(remotes.begin(), remotes.end(),
                    [&](const RemoteNetwork& remote) { return remote.network == own; });
    if (!is_flat) behind.push_back(own);
  }
  return behind;
}

/// Whoever is on the node's links could send to pods as another pod, past their policies: neither
/// rp_filter, which may be off and which IPv6 lacks, nor a pod's switch looks at such packets.
std::vector<NodeRule> ForgedRules(const NodePlan& plan) {
  std::vector<NodeRule> rules;
  const std::vector<IpNetwork> behind = BehindPort(plan);
  for (const IpFamily family : {IpFamily::kIpv4, IpFamily::kIpv6}) {
    const auto pods = IntervalsOf(behind, family);
    if (pods.empty()) continue;
    rules.push_back(
        {.note = "from pods " + TextOf(pods) + " by another link than " + plan.port.name +
                 " to it: drop",
         .family = family,
         .inside = pods,
         .fill = [family, link = plan.port.name](nl_msg& rule, const std::optional<NftSet>& set) {
           MatchOtherInput(rule, link);
           MatchOutput(rule, link);
           MatchFamily(rule, family);
           MatchAddressIn(rule, PacketEnd::kSource, family, set.value().name, set->id);
           PutDrop(rule);
         }});
  }
  return rules;
}

std::vector<std::string> NotesOf(const std::vector<NodeRule>& rules) {
  std::vector<std::string> notes;
  notes.reserve(rules.size());
  for (const NodeRule& rule : rules) notes.push_back(rule.note);
  return notes;
}

void PutRules(NftBatch& batch, const char* chain, const std::vector<NodeRule>& rules) {
  batch.FlushChain(chain);
  for (const NodeRule& rule : rules) {
    std::optional<NftSet> set;
    if (!rule.inside.empty()) set = batch.AddSet(rule.family, rule.inside);
    batch.AddRule(chain, rule.note, [&](nl_msg& message) { rule.fill(message, set); });
  }
}

class RulePart final : public NodePart {
 public:
  explicit RulePart(const NodePlan& plan)
      : masquerade_(MasqueradeRules(plan)),
        redirects_(RedirectRules(plan)),
        forged_(ForgedRules(plan)) {}

  [[nodiscard]] const char* name() const override { return "rules"; }

  [[nodiscard]] Differences Check(const Deadline& /*deadline*/) override {
    if (IsThere(kMasqueradeChain, masquerade_) && IsThere(kRedirectChain, redirects_) &&
        IsThere(kForgedChain, forged_))
      return {};
    return {{.kind = DifferenceKind::kRules,
             .what = kNodeTable,
             .text = std::string("table inet ") + kNodeTable + " of nftables has other rules",
             .live_safe = true}};
  }

  void Make(const Deadline& /*deadline*/) override {
    NftBatch batch(kNodeTable);
    batch.AddTable();
    batch.AddSourceNatChain(kMasqueradeChain);
    batch.AddOutputChain(kRedirectChain);
    batch.AddForwardChain(kForgedChain, 0);
    PutRules(batch, kMasqueradeChain, masquerade_);
    PutRules(batch, kRedirectChain, redirects_);
    PutRules(batch, kForgedChain, forged_);
    CheckAnswer(batch.Commit(kWhat), kWhat);
  }

 private:
  static bool IsThere(const char* chain, const std::vector<NodeRule>& rules) {
    return HasNotes(kNodeTable, chain, NotesOf(rules), kWhat);
  }

  const std::vector<NodeRule> masquerade_;
  const std::vector<NodeRule> redirects_;
  const std::vector<NodeRule> forged_;
};

}  // namespace

bool RemoveNodeRules() { return RemoveNftTable(kNodeTable, "remove the node's rules of nftables"); }

std::unique_ptr<NodePart> NewRulePart(const NodePlan& plan) {
  return std::make_unique<RulePart>(plan);
}

}  // namespace kuryr::binding
