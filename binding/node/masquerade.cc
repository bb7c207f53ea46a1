#include "binding/node/masquerade.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/deadline.h"
#include "base/error.h"
#include "binding/netlink/nft_batch.h"
#include "binding/netlink/nft_query.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/netlink/route_socket.h"

namespace kuryr::binding {
namespace {

constexpr const char* kTable = "kuryr-cni";
constexpr std::chrono::seconds kPatience{10};

std::string ChainOf(const std::string& bridge) { return "masquerade-" + bridge; }

IpNetwork MulticastOf(IpFamily family) {
  return IpNetwork::Parse(family == IpFamily::kIpv4 ? "224.0.0.0/4" : "ff00::/8").value();
}

void MergeInto(const std::vector<IpNetwork>& networks, std::vector<IpNetwork>& to) {
  for (const IpNetwork& network : networks) to.push_back(network.Masked());
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

/// The subnets that other networks on this bridge had masqueraded. Only the chain knows them: some
/// of the bridge's addresses may be the operator's, and some of networks without masquerade.
std::vector<IpNetwork> EarlierPods(const Masquerade& masquerade, const std::string& what) {
  std::vector<IpNetwork> earlier = MasqueradedIn(kTable, ChainOf(masquerade.bridge), what);
  const auto erase_those_of = [&](const std::vector<IpNetwork>& networks, bool inside) {
    std::erase_if(earlier, [&](const IpNetwork& subnet) {
      return inside == std::any_of(networks.begin(), networks.end(),
                                   [&](const auto& other) { return other.Masked() == subnet; });
    });
  };
  erase_those_of(masquerade.pods, true);
  if (earlier.empty()) return earlier;
  RouteSocket host;
  const auto bridge = host.FindLink(masquerade.bridge);
  if (!bridge) return {};
  erase_those_of(host.AddressesOf(*bridge), false);
  return earlier;
}

void AddSubnet(const IpNetwork& pods, std::vector<IpNetwork> exceptions,
               std::vector<NatRule>& rules) {
  const IpFamily family = pods.address.family;
  std::erase_if(exceptions, [&](const auto& cidr) { return cidr.address.family != family; });
  exceptions.push_back(MulticastOf(family));
  for (const IpNetwork& destination : exceptions)
    rules.push_back({.source = pods, .destination = destination});
  rules.push_back({.source = pods,
                   .destination = IpNetwork::Default(family),
                   .verdict = NatRule::Verdict::kMasquerade});
}

/// The rules, in an order that does not depend on which of the bridge's networks asks.
std::vector<NatRule> RulesOf(const Masquerade& masquerade, const std::vector<IpNetwork>& earlier) {
  const std::vector<IpNetwork>& cidrs = masquerade.non_masquerade_cidrs;
  std::vector<IpNetwork> pods = masquerade.pods;
  std::erase_if(pods, [&](const IpNetwork& subnet) {
    return std::none_of(cidrs.begin(), cidrs.end(), [&](const auto& cidr) {
      return cidr.address.family == subnet.address.family;
    });
  });
  std::vector<IpNetwork> all;
  MergeInto(pods, all);
  MergeInto(earlier, all);
  // With br_netfilter, frames from one pod to another pass here as well.
  std::vector<IpNetwork> exceptions = all;
  MergeInto(cidrs, exceptions);
  std::vector<NatRule> rules;
  for (const IpNetwork& subnet : all) AddSubnet(subnet, exceptions, rules);
  return rules;
}

/// False when others changed the node's rules since those of the chain were read.
bool TryApply(const Masquerade& masquerade, const std::string& what) {
  const uint32_t generation = RulesetGeneration(what);
  const std::string chain = ChainOf(masquerade.bridge);
  const std::vector<NatRule> rules = RulesOf(masquerade, EarlierPods(masquerade, what));
  // A commit waits 10 ms for the kernel's readers, and every ADD comes by here.
  if (HasRules(kTable, chain, rules, what)) return true;
  NftBatch batch(kTable, generation);
  batch.AddTable();
  batch.AddSourceNatChain(chain);
  batch.FlushChain(chain);
  for (const NatRule& rule : rules) batch.AddRule(chain, rule);
  const NlAnswer answer = batch.Commit(what);
  if (answer.error == ERESTART) return false;
  CheckAnswer(answer, what);
  return true;
}

}  // namespace

void ApplyMasquerade(const Masquerade& masquerade) {
  const std::string what = "masquerade the pods of bridge " + Printable(masquerade.bridge);
  // A try fails only where another program has changed the rules meanwhile: that one has made
  // progress, and so will this one.
  const Deadline deadline = Deadline::After(kPatience);
  while (!TryApply(masquerade, what)) {
    if (deadline.Remaining().count() == 0)
      ThrowErrno(EBUSY, what + ": others change the rules all the time");
  }
}

bool RemoveMasquerade(const std::string& bridge) {
  const std::string what = "remove the masquerade of bridge " + Printable(bridge);
  NftBatch chain(kTable);
  chain.DeleteChain(ChainOf(bridge));
  const NlAnswer removed = chain.Commit(what);
  if (removed.error == ENOENT) return false;
  CheckAnswer(removed, what);
  NftBatch table(kTable);
  table.DeleteEmptyTable();
  const NlAnswer emptied = table.Commit(what);
  // Another bridge's chain is there, or another remover was faster.
  if (emptied.error != EBUSY && emptied.error != ENOENT) CheckAnswer(emptied, what);
  return true;
}

}  // namespace kuryr::binding
