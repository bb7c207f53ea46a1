#include "binding/netlink/nft_batch.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <netlink/attr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "binding/netlink/nft_message.h"
#include "binding/netlink/nft_query.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/netlink/nl_value.h"

namespace kuryr::binding {
namespace {

constexpr std::string_view kTo = " to ";
constexpr std::string_view kMasqueradeNote = ": masquerade fully-random";

/// The kernel replaces it by a name of its own.
constexpr const char* kNamelessSet = "__set%d";
// nft's numbers of types by which it prints a set's elements (ipv4_addr, ipv6_addr, inet_service).
constexpr uint32_t kIpv4Type = 7;
constexpr uint32_t kIpv6Type = 8;
constexpr uint32_t kPortType = 13;
/// Elements of a set in one message, which libnl makes as large as a page.
constexpr size_t kElements = 32;

std::string NoteOf(const NatRule& rule) {
  const bool masquerade = rule.verdict == NatRule::Verdict::kMasquerade;
  std::string text = rule.source.ToString();
  text.append(kTo).append(rule.destination.ToString());
  return text.append(masquerade ? kMasqueradeNote : ": return");
}

uint32_t TypeOf(IpFamily family) { return family == IpFamily::kIpv4 ? kIpv4Type : kIpv6Type; }

uint32_t BytesOf(IpFamily family) {
  return static_cast<uint32_t>(IpAddress{.family = family}.size());
}

std::span<const uint8_t> BytesIn(const IpAddress& address) {
  return std::span(address.bytes).first(address.size());
}

std::array<uint8_t, 2> PortBytes(uint16_t port) {
  return {static_cast<uint8_t>(port >> 8), static_cast<uint8_t>(port)};
}

/// `chain`: where an element of a map leads; empty: the element is a set's.
void PutElement(nl_msg& message, std::span<const uint8_t> key, uint32_t flags = 0,
                const std::string& chain = {}) {
  PutNested(message, NFTA_LIST_ELEM, [&] {
    PutNested(message, NFTA_SET_ELEM_KEY, [&] { PutBytes(message, NFTA_DATA_VALUE, key); });
    if (flags != 0) PutNumber(message, NFTA_SET_ELEM_FLAGS, flags);
    if (chain.empty()) return;
    PutNested(message, NFTA_SET_ELEM_DATA, [&] {
      PutNested(message, NFTA_DATA_VERDICT, [&] {
        PutNumber(message, NFTA_VERDICT_CODE, static_cast<uint32_t>(NFT_JUMP));
        PutText(message, NFTA_VERDICT_CHAIN, chain);
      });
    });
  });
}

void PutAddress(nl_msg& message, const IpAddress& address) {
  PutElement(message, BytesIn(address));
}

void PutPair(nl_msg& message, const IpAddress& address) {
  std::array<uint8_t, 2 * sizeof address.bytes> pair{};
  std::ranges::copy(BytesIn(address), pair.begin());
  std::ranges::copy(BytesIn(address), pair.begin() + static_cast<long>(address.size()));
  PutElement(message, std::span(pair).first(2 * address.size()));
}

}  // namespace

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

void NftBatch::AddChain(const std::string& chain) {
  nl_msg& message = Append(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
  PutText(message, NFTA_CHAIN_TABLE, table_);
  PutText(message, NFTA_CHAIN_NAME, chain);
}

void NftBatch::AddBaseChain(const std::string& chain, const char* type, uint32_t hook,
                            int priority) {
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
  AddBaseChain(chain, "nat", NF_INET_POST_ROUTING, NF_IP_PRI_NAT_SRC);
}

void NftBatch::AddOutputChain(const std::string& chain) {
  AddBaseChain(chain, "filter", NF_INET_LOCAL_OUT, NF_IP_PRI_FILTER);
}

void NftBatch::AddForwardChain(const std::string& chain, int offset) {
  AddBaseChain(chain, "filter", NF_INET_FORWARD, NF_IP_PRI_FILTER + offset);
}

void NftBatch::AddInputChain(const std::string& chain) {
  AddBaseChain(chain, "filter", NF_INET_LOCAL_IN, NF_IP_PRI_FILTER);
}

void NftBatch::FlushChain(const std::string& chain) {
  nl_msg& message = Append(NFT_MSG_DELRULE, 0);
  PutText(message, NFTA_RULE_TABLE, table_);
  PutText(message, NFTA_RULE_CHAIN, chain);
}

nl_msg& NftBatch::AppendSet(const NftSet& set, uint32_t flags, uint32_t type, uint32_t key_bytes) {
  nl_msg& message = Append(NFT_MSG_NEWSET, NLM_F_CREATE);
  PutText(message, NFTA_SET_TABLE, table_);
  PutText(message, NFTA_SET_NAME, set.name);
  PutNumber(message, NFTA_SET_ID, set.id);
  PutNumber(message, NFTA_SET_FLAGS, flags);
  PutNumber(message, NFTA_SET_KEY_TYPE, type);
  PutNumber(message, NFTA_SET_KEY_LEN, key_bytes);
  return message;
}

NftSet NftBatch::AddConstantSet(uint32_t type, uint32_t key_bytes) {
  NftSet set{.name = kNamelessSet, .id = ++sets_};
  (void)AppendSet(set, NFT_SET_ANONYMOUS | NFT_SET_CONSTANT | NFT_SET_INTERVAL, type, key_bytes);
  return set;
}

NftSet NftBatch::AddSet(IpFamily family, std::span<const NftInterval> intervals) {
  NftSet set = AddConstantSet(TypeOf(family), BytesOf(family));
  const IpAddress first{.family = family};
  const bool has_first = !intervals.empty() && intervals.front().begin == first;
  // nft prints a set from the family's first address on.
  if (!has_first) {
    ChangeElements(NFT_MSG_NEWSETELEM, set, [&](nl_msg& elements) {
      PutElement(elements, BytesIn(first), NFT_SET_ELEM_INTERVAL_END);
    });
  }
  ChangeElements(NFT_MSG_NEWSETELEM, set, intervals,
                 [](nl_msg& elements, const NftInterval& interval) {
                   PutElement(elements, BytesIn(interval.begin));
                   if (interval.end)
                     PutElement(elements, BytesIn(*interval.end), NFT_SET_ELEM_INTERVAL_END);
                 });
  return set;
}

NftSet NftBatch::AddPortSet(std::span<const NftPorts> ranges) {
  NftSet set = AddConstantSet(kPortType, sizeof(uint16_t));
  if (ranges.empty() || ranges.front().first != 0) {
    ChangeElements(NFT_MSG_NEWSETELEM, set, [&](nl_msg& elements) {
      PutElement(elements, PortBytes(0), NFT_SET_ELEM_INTERVAL_END);
    });
  }
  ChangeElements(NFT_MSG_NEWSETELEM, set, ranges, [](nl_msg& elements, const NftPorts& range) {
    PutElement(elements, PortBytes(range.first));
    if (range.last != UINT16_MAX) {
      PutElement(elements, PortBytes(static_cast<uint16_t>(range.last + 1)),
                 NFT_SET_ELEM_INTERVAL_END);
    }
  });
  return set;
}

void NftBatch::AddNamed(const std::string& set, uint32_t flags, uint32_t type, uint32_t key_bytes) {
  nl_msg& message = AppendSet({.name = set, .id = ++sets_}, flags, type, key_bytes);
  if ((flags & NFT_SET_MAP) != 0) PutNumber(message, NFTA_SET_DATA_TYPE, NFT_DATA_VERDICT);
}

void NftBatch::AddNamedSet(const std::string& set, IpFamily family) {
  AddNamed(set, 0, TypeOf(family), BytesOf(family));
}

void NftBatch::AddPairSet(const std::string& set, IpFamily family) {
  // nft joins the types of a key's parts, six bits each.
  AddNamed(set, 0, (TypeOf(family) << 6) | TypeOf(family), 2 * BytesOf(family));
}

void NftBatch::AddVerdictMap(const std::string& map, IpFamily family) {
  AddNamed(map, NFT_SET_MAP, TypeOf(family), BytesOf(family));
}

void NftBatch::AddAddresses(const std::string& set, std::span<const IpAddress> addresses) {
  ChangeElements(NFT_MSG_NEWSETELEM, {.name = set}, addresses, PutAddress);
}

void NftBatch::AddPairs(const std::string& set, std::span<const IpAddress> addresses) {
  ChangeElements(NFT_MSG_NEWSETELEM, {.name = set}, addresses, PutPair);
}

void NftBatch::AddJumps(const std::string& map, std::span<const NftJump> jumps) {
  ChangeElements(NFT_MSG_NEWSETELEM, {.name = map}, jumps,
                 [](nl_msg& elements, const NftJump& jump) {
                   PutElement(elements, BytesIn(jump.address), 0, jump.chain);
                 });
}

void NftBatch::DeleteAddresses(const std::string& set, std::span<const IpAddress> addresses) {
  ChangeElements(NFT_MSG_DELSETELEM, {.name = set}, addresses, PutAddress);
}

void NftBatch::DeletePairs(const std::string& set, std::span<const IpAddress> addresses) {
  ChangeElements(NFT_MSG_DELSETELEM, {.name = set}, addresses, PutPair);
}

void NftBatch::DeleteSet(const std::string& set) {
  nl_msg& message = Append(NFT_MSG_DELSET, 0);
  PutText(message, NFTA_SET_TABLE, table_);
  PutText(message, NFTA_SET_NAME, set);
}

void NftBatch::ChangeElements(int type, const NftSet& set,
                              const std::function<void(nl_msg&)>& fill) {
  nl_msg& message = Append(type, type == NFT_MSG_NEWSETELEM ? NLM_F_CREATE : 0);
  PutText(message, NFTA_SET_ELEM_LIST_TABLE, table_);
  PutText(message, NFTA_SET_ELEM_LIST_SET, set.name);
  PutNumber(message, NFTA_SET_ELEM_LIST_SET_ID, set.id);
  PutNested(message, NFTA_SET_ELEM_LIST_ELEMENTS, [&] { fill(message); });
}

template <typename Items, typename Put>
void NftBatch::ChangeElements(int type, const NftSet& set, Items items, const Put& put) {
  while (!items.empty()) {
    const auto some = items.first(std::min(kElements, items.size()));
    ChangeElements(type, set, [&](nl_msg& elements) {
      for (const auto& item : some) put(elements, item);
    });
    items = items.subspan(some.size());
  }
}

void NftBatch::AddRule(const std::string& chain, const std::string& note,
                       const std::function<void(nl_msg& rule)>& fill) {
  nl_msg& message = Append(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
  PutText(message, NFTA_RULE_TABLE, table_);
  PutText(message, NFTA_RULE_CHAIN, chain);
  const std::string data = NoteData(note);
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
  return Commit(*OpenNlSocket(NETLINK_NETFILTER), what);
}

NlAnswer NftBatch::Commit(nl_sock& socket, const std::string& what) {
  messages_.push_back(NftBatchMessage(NFNL_MSG_BATCH_END));
  return TransactBatch(socket, messages_, what);
}

bool RemoveNftTable(const std::string& table, const std::string& what) {
  NftBatch batch(table);
  batch.DeleteTable();
  try {
    const NlAnswer answer = batch.Commit(what);
    // A kernel without nf_tables has no table either.
    if (answer.error == ENOENT || answer.error == EOPNOTSUPP) return false;
    CheckAnswer(answer, what);
    return true;
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::protocol_not_supported) throw;
    return false;
  }
}

bool HasRules(const std::string& table, const std::string& chain, std::span<const NatRule> rules,
              const std::string& what) {
  std::vector<std::string> notes;
  std::ranges::transform(rules, std::back_inserter(notes), NoteOf);
  return HasNotes(table, chain, notes, what);
}

std::vector<IpNetwork> MasqueradedIn(const std::string& table, const std::string& chain,
                                     const std::string& what) {
  std::vector<IpNetwork> sources;
  for (const std::string& note : NotesIn(table, chain, what)) {
    if (!note.ends_with(kMasqueradeNote)) continue;
    const std::string_view text = note;
    if (const auto source = IpNetwork::Parse(text.substr(0, text.find(kTo))))
      sources.push_back(*source);
  }
  return sources;
}

}  // namespace kuryr::binding
