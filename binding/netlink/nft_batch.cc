#include "binding/netlink/nft_batch.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <netlink/attr.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "binding/netlink/nft_message.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/netlink/nl_value.h"

namespace kuryr::binding {
namespace {

constexpr std::string_view kTo = " to ";
constexpr std::string_view kMasqueradeNote = ": masquerade fully-random";

/// The kernel replaces it by a name of its own.
constexpr const char* kNamelessSet = "__set%d";
// nft's numbers of types by which it prints a set's elements (ipv4_addr, ipv6_addr).
constexpr uint32_t kIpv4Type = 7;
constexpr uint32_t kIpv6Type = 8;
/// Intervals of a set in one message, which libnl makes as large as a page.
constexpr size_t kIntervals = 32;

/// As libnftnl lays out a rule's user data: type, length, value. Type 0 is nft's comment; it skips
/// what it does not know.
std::string UserData(const std::string& note) {
  return std::string{'k', static_cast<char>(note.size())} + note;
}

std::string NoteOf(const NatRule& rule) {
  const bool masquerade = rule.verdict == NatRule::Verdict::kMasquerade;
  std::string text = rule.source.ToString();
  text.append(kTo).append(rule.destination.ToString());
  return text.append(masquerade ? kMasqueradeNote : ": return");
}

void PutElement(nl_msg& message, const IpAddress& address, uint32_t flags) {
  PutNested(message, NFTA_LIST_ELEM, [&] {
    PutNested(message, NFTA_SET_ELEM_KEY, [&] {
      PutBytes(message, NFTA_DATA_VALUE, std::span(address.bytes).first(address.size()));
    });
    if (flags != 0) PutNumber(message, NFTA_SET_ELEM_FLAGS, flags);
  });
}

/// The user data of all rules of the chain; empty where a rule has none.
std::vector<std::string> NotesIn(const std::string& table, const std::string& chain,
                                 const std::string& what) {
  const NlMsgPtr request = NftMessage(NFT_MSG_GETRULE, 0);
  PutText(*request, NFTA_RULE_TABLE, table);
  PutText(*request, NFTA_RULE_CHAIN, chain);
  nlmsg_hdr(request.get())->nlmsg_flags |= NLM_F_DUMP;
  std::vector<std::string> notes;
  Dump(*OpenNlSocket(NETLINK_NETFILTER), *request, what, [&](nlmsghdr& message) {
    const nlattr* note = nlmsg_find_attr(&message, sizeof(nfgenmsg), NFTA_RULE_USERDATA);
    std::string& text = notes.emplace_back();
    if (note != nullptr)
      text.assign(static_cast<char*>(nla_data(note)), static_cast<size_t>(nla_len(note)));
  });
  return notes;
}

}  // namespace

uint32_t RulesetGeneration(const std::string& what) {
  const NlMsgPtr request = NftMessage(NFT_MSG_GETGEN, 0);
  const NlAnswer answer = Transact(*OpenNlSocket(NETLINK_NETFILTER), *request, what);
  CheckAnswer(answer, what);
  const nlattr* id = answer.object == nullptr ? nullptr
                                              : nlmsg_find_attr(nlmsg_hdr(answer.object.get()),
                                                                sizeof(nfgenmsg), NFTA_GEN_ID);
  const auto number = NumberIn<uint32_t>(id);
  if (!number) ThrowErrno(EPROTO, what + ": read the ruleset's generation");
  return ntohl(*number);
}

NftBatch::NftBatch(std::string table, std::optional<uint32_t> generation)
    : table_(std::move(table)) {
  messages_.push_back(NftBatchMessage(NFNL_MSG_BATCH_BEGIN));
  if (generation) PutNumber(*messages_.back(), NFNL_BATCH_GENID, *generation);
}

nl_msg& NftBatch::Append(int type, int flags) {
  messages_.push_back(NftMessage(type, flags));
  return *messages_.back();
}

void NftBatch::AddTable() {
  PutText(Append(NFT_MSG_NEWTABLE, NLM_F_CREATE), NFTA_TABLE_NAME, table_);
}

void NftBatch::AddChain(const std::string& chain, const char* type, uint32_t hook, int priority) {
  nl_msg& message = Append(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
  PutText(message, NFTA_CHAIN_TABLE, table_);
  PutText(message, NFTA_CHAIN_NAME, chain);
  PutText(message, NFTA_CHAIN_TYPE, type);
  PutNested(message, NFTA_CHAIN_HOOK, [&] {
    PutNumber(message, NFTA_HOOK_HOOKNUM, hook);
    PutNumber(message, NFTA_HOOK_PRIORITY, static_cast<uint32_t>(priority));
  });
}

void NftBatch::AddSourceNatChain(const std::string& chain) {
  AddChain(chain, "nat", NF_INET_POST_ROUTING, NF_IP_PRI_NAT_SRC);
}

void NftBatch::AddOutputChain(const std::string& chain) {
  AddChain(chain, "filter", NF_INET_LOCAL_OUT, NF_IP_PRI_FILTER);
}

void NftBatch::AddForwardChain(const std::string& chain) {
  AddChain(chain, "filter", NF_INET_FORWARD, NF_IP_PRI_FILTER);
}

void NftBatch::FlushChain(const std::string& chain) {
  nl_msg& message = Append(NFT_MSG_DELRULE, 0);
  PutText(message, NFTA_RULE_TABLE, table_);
  PutText(message, NFTA_RULE_CHAIN, chain);
}

NftSet NftBatch::AddSet(IpFamily family, std::span<const NftInterval> intervals) {
  const NftSet set{.name = kNamelessSet, .id = ++sets_};
  nl_msg& message = Append(NFT_MSG_NEWSET, NLM_F_CREATE);
  PutText(message, NFTA_SET_TABLE, table_);
  PutText(message, NFTA_SET_NAME, set.name);
  PutNumber(message, NFTA_SET_ID, set.id);
  PutNumber(message, NFTA_SET_FLAGS, NFT_SET_ANONYMOUS | NFT_SET_CONSTANT | NFT_SET_INTERVAL);
  const bool ipv4 = family == IpFamily::kIpv4;
  PutNumber(message, NFTA_SET_KEY_TYPE, ipv4 ? kIpv4Type : kIpv6Type);
  PutNumber(message, NFTA_SET_KEY_LEN, static_cast<uint32_t>(IpAddress{.family = family}.size()));
  const IpAddress first{.family = family};
  const bool has_first = !intervals.empty() && intervals.front().begin == first;
  // nft prints a set from the family's first address on.
  if (!has_first)
    AddElements(set,
                [&](nl_msg& elements) { PutElement(elements, first, NFT_SET_ELEM_INTERVAL_END); });
  for (; !intervals.empty();
       intervals = intervals.subspan(std::min(kIntervals, intervals.size()))) {
    AddElements(set, [&](nl_msg& elements) {
      for (const NftInterval& interval : intervals.first(std::min(kIntervals, intervals.size()))) {
        PutElement(elements, interval.begin, 0);
        if (interval.end) PutElement(elements, *interval.end, NFT_SET_ELEM_INTERVAL_END);
      }
    });
  }
  return set;
}

void NftBatch::AddElements(const NftSet& set, const std::function<void(nl_msg&)>& fill) {
  nl_msg& message = Append(NFT_MSG_NEWSETELEM, NLM_F_CREATE);
  PutText(message, NFTA_SET_ELEM_LIST_TABLE, table_);
  PutText(message, NFTA_SET_ELEM_LIST_SET, set.name);
  PutNumber(message, NFTA_SET_ELEM_LIST_SET_ID, set.id);
  PutNested(message, NFTA_SET_ELEM_LIST_ELEMENTS, [&] { fill(message); });
}

void NftBatch::AddRule(const std::string& chain, const std::string& note,
                       const std::function<void(nl_msg& rule)>& fill) {
  nl_msg& message = Append(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
  PutText(message, NFTA_RULE_TABLE, table_);
  PutText(message, NFTA_RULE_CHAIN, chain);
  const std::string data = UserData(note);
  PutBytes(message, NFTA_RULE_USERDATA,
           {reinterpret_cast<const uint8_t*>(data.data()), data.size()});
  PutNested(message, NFTA_RULE_EXPRESSIONS, [&] { fill(message); });
}

void NftBatch::AddRule(const std::string& chain, const NatRule& rule) {
  AddRule(chain, NoteOf(rule), [&](nl_msg& message) {
    MatchFamily(message, rule.source.address.family);
    MatchSource(message, rule.source);
    MatchDestination(message, rule.destination);
    if (rule.verdict == NatRule::Verdict::kMasquerade) {
      PutMasquerade(message);
    } else {
      PutReturn(message);
    }
  });
}

void NftBatch::DeleteChain(const std::string& chain) {
  nl_msg& message = Append(NFT_MSG_DELCHAIN, 0);
  PutText(message, NFTA_CHAIN_TABLE, table_);
  PutText(message, NFTA_CHAIN_NAME, chain);
}

void NftBatch::DeleteEmptyTable() {
  PutText(Append(NFT_MSG_DELTABLE, NLM_F_NONREC), NFTA_TABLE_NAME, table_);
}

void NftBatch::DeleteTable() { PutText(Append(NFT_MSG_DELTABLE, 0), NFTA_TABLE_NAME, table_); }

NlAnswer NftBatch::Commit(const std::string& what) {
  messages_.push_back(NftBatchMessage(NFNL_MSG_BATCH_END));
  return TransactBatch(*OpenNlSocket(NETLINK_NETFILTER), messages_, what);
}

bool HasRules(const std::string& table, const std::string& chain, std::span<const NatRule> rules,
              const std::string& what) {
  std::vector<std::string> notes;
  std::ranges::transform(rules, std::back_inserter(notes), NoteOf);
  return HasNotes(table, chain, notes, what);
}

bool HasNotes(const std::string& table, const std::string& chain,
              std::span<const std::string> notes, const std::string& what) {
  return std::ranges::equal(NotesIn(table, chain, what), notes, {}, {}, UserData);
}

std::vector<IpNetwork> MasqueradedIn(const std::string& table, const std::string& chain,
                                     const std::string& what) {
  std::vector<IpNetwork> sources;
  for (const std::string& note : NotesIn(table, chain, what)) {
    if (!note.ends_with(kMasqueradeNote)) continue;
    const std::string_view text = std::string_view(note).substr(2);
    if (const auto source = IpNetwork::Parse(text.substr(0, text.find(kTo))))
      sources.push_back(*source);
  }
  return sources;
}

}  // namespace kuryr::binding
