#include "binding/masquerade.h"

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "binding/netlink/nft_batch.h"
#include "binding/netlink/nl_transaction.h"

namespace kuryr::binding {
namespace {

constexpr const char* kTable = "kuryr-cni";

std::string ChainOf(const std::string& bridge) { return "masquerade-" + bridge; }

IpNetwork MulticastOf(IpFamily family) {
  return IpNetwork::Parse(family == IpFamily::kIpv4 ? "224.0.0.0/4" : "ff00::/8").value();
}

void AddRules(const IpNetwork& pods, std::vector<IpNetwork> exceptions,
              std::vector<NatRule>& rules) {
  const IpFamily family = pods.address.family;
  std::erase_if(exceptions, [&](const auto& cidr) { return cidr.address.family != family; });
  if (exceptions.empty()) return;
  // With br_netfilter, frames from one pod to another come by here too.
  if (std::find(exceptions.begin(), exceptions.end(), pods) == exceptions.end())
    exceptions.push_back(pods);
  exceptions.push_back(MulticastOf(family));
  for (const IpNetwork& destination : exceptions)
    rules.push_back({.source = pods, .destination = destination});
  rules.push_back({.source = pods,
                   .destination = IpNetwork::Default(family),
                   .verdict = NatRule::Verdict::kMasquerade});
}

std::vector<NatRule> RulesOf(const Masquerade& masquerade) {
  std::vector<NatRule> rules;
  for (const IpNetwork& pods : masquerade.pods)
    AddRules(pods, masquerade.non_masquerade_cidrs, rules);
  return rules;
}

}  // namespace

void ApplyMasquerade(const Masquerade& masquerade) {
  const std::string what = "masquerade the pods of bridge " + Printable(masquerade.bridge);
  const std::string chain = ChainOf(masquerade.bridge);
  const std::vector<NatRule> rules = RulesOf(masquerade);
  // A commit waits 10 ms for the kernel's readers, and every ADD comes by here.
  if (HasRules(kTable, chain, rules, what)) return;
  NftBatch batch(kTable);
  batch.AddTable();
  batch.AddSourceNatChain(chain);
  batch.FlushChain(chain);
  for (const NatRule& rule : rules) batch.AddRule(chain, rule);
  CheckAnswer(batch.Commit(what), what);
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
