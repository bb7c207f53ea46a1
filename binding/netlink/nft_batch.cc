#include "binding/netlink/nft_batch.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netlink/attr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "binding/netlink/nl_error.h"
#include "binding/netlink/nl_transaction.h"
#include "binding/netlink/nl_value.h"

namespace kuryr::binding {
namespace {

constexpr std::string_view kTo = " to ";
constexpr std::string_view kMasqueradeNote = ": masquerade fully-random";
constexpr const char* kBuild = "build an nf_tables message";

using Bytes = std::span<const uint8_t>;

NlMsgPtr Message(int type, int flags, nfgenmsg header) {
  NlMsgPtr message = Owned<NlMsgPtr>(nlmsg_alloc_simple(type, flags));
  CheckNl(nlmsg_append(message.get(), &header, sizeof header, NLMSG_ALIGNTO), kBuild);
  return message;
}

NlMsgPtr BatchMessage(int type) {
  return Message(type, 0, {.nfgen_family = AF_UNSPEC, .res_id = htons(NFNL_SUBSYS_NFTABLES)});
}

void Put(nl_msg& message, int attribute, const std::string& text) {
  CheckNl(nla_put_string(&message, attribute, text.c_str()), kBuild);
}

/// nf_tables wants numbers in network byte order.
void Put(nl_msg& message, int attribute, uint32_t number) {
  CheckNl(nla_put_u32(&message, attribute, htonl(number)), kBuild);
}

template <typename Fill>
void PutNested(nl_msg& message, int attribute, Fill fill) {
  nlattr* nested = nla_nest_start(&message, attribute);
  if (nested == nullptr) throw std::bad_alloc();
  fill();
  CheckNl(nla_nest_end(&message, nested), kBuild);
}

void PutValue(nl_msg& message, int attribute, Bytes value) {
  PutNested(message, attribute, [&] {
    const int size = static_cast<int>(value.size());
    CheckNl(nla_put(&message, NFTA_DATA_VALUE, size, value.data()), kBuild);
  });
}

template <typename Fill>
void PutExpression(nl_msg& rule, const char* name, Fill fill) {
  PutNested(rule, NFTA_LIST_ELEM, [&] {
    Put(rule, NFTA_EXPR_NAME, name);
    PutNested(rule, NFTA_EXPR_DATA, fill);
  });
}

void PutCompare(nl_msg& rule, Bytes value) {
  PutExpression(rule, "cmp", [&] {
    Put(rule, NFTA_CMP_SREG, NFT_REG_1);
    Put(rule, NFTA_CMP_OP, NFT_CMP_EQ);
    PutValue(rule, NFTA_CMP_DATA, value);
  });
}

void MatchFamily(nl_msg& rule, IpFamily family) {
  PutExpression(rule, "meta", [&] {
    Put(rule, NFTA_META_DREG, NFT_REG_1);
    Put(rule, NFTA_META_KEY, NFT_META_NFPROTO);
  });
  const uint8_t protocol = family == IpFamily::kIpv4 ? NFPROTO_IPV4 : NFPROTO_IPV6;
  PutCompare(rule, {&protocol, 1});
}

/// The address at `offset` of the IP header.
void MatchAddress(nl_msg& rule, size_t offset, const IpNetwork& network) {
  if (network.prefix_length == 0) return;
  const size_t size = network.address.size();
  std::array<uint8_t, 16> mask{};
  std::array<uint8_t, 16> value = network.address.bytes;
  for (size_t i = 0; i < size; ++i) {
    const int bits = std::clamp(network.prefix_length - static_cast<int>(i) * 8, 0, 8);
    mask[i] = static_cast<uint8_t>(0xff00 >> bits);
    value[i] &= mask[i];
  }
  PutExpression(rule, "payload", [&] {
    Put(rule, NFTA_PAYLOAD_DREG, NFT_REG_1);
    Put(rule, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
    Put(rule, NFTA_PAYLOAD_OFFSET, static_cast<uint32_t>(offset));
    Put(rule, NFTA_PAYLOAD_LEN, static_cast<uint32_t>(size));
  });
  PutExpression(rule, "bitwise", [&] {
    Put(rule, NFTA_BITWISE_SREG, NFT_REG_1);
    Put(rule, NFTA_BITWISE_DREG, NFT_REG_1);
    Put(rule, NFTA_BITWISE_LEN, static_cast<uint32_t>(size));
    PutValue(rule, NFTA_BITWISE_MASK, Bytes(mask).first(size));
    PutValue(rule, NFTA_BITWISE_XOR, Bytes(std::array<uint8_t, 16>{}).first(size));
  });
  PutCompare(rule, Bytes(value).first(size));
}

void PutVerdict(nl_msg& rule, NatRule::Verdict verdict) {
  switch (verdict) {
    case NatRule::Verdict::kReturn:
      PutExpression(rule, "immediate", [&] {
        Put(rule, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
        PutNested(rule, NFTA_IMMEDIATE_DATA, [&] {
          PutNested(rule, NFTA_DATA_VERDICT,
                    [&] { Put(rule, NFTA_VERDICT_CODE, static_cast<uint32_t>(NFT_RETURN)); });
        });
      });
      return;
    case NatRule::Verdict::kMasquerade:
      // Ports in order collide when two connections to one server begin at the same moment, and
      // the second one's first packet is dropped.
      PutExpression(rule, "masq",
                    [&] { Put(rule, NFTA_MASQ_FLAGS, NF_NAT_RANGE_PROTO_RANDOM_FULLY); });
      return;
  }
}

/// As libnftnl lays out a rule's user data: type, length, value. Type 0 is nft's comment; it skips
/// what it does not know.
std::string NoteOf(const NatRule& rule) {
  const bool masquerade = rule.verdict == NatRule::Verdict::kMasquerade;
  std::string text = rule.source.ToString();
  text.append(kTo).append(rule.destination.ToString());
  text.append(masquerade ? kMasqueradeNote : ": return");
  return std::string{'k', static_cast<char>(text.size())} + text;
}

NlMsgPtr TableMessage(int type, int flags) {
  return Message((NFNL_SUBSYS_NFTABLES << 8) | type, flags, {.nfgen_family = NFPROTO_INET});
}

/// The notes of all rules of the chain; empty where a rule has none.
std::vector<std::string> NotesIn(const std::string& table, const std::string& chain,
                                 const std::string& what) {
  const NlMsgPtr request = TableMessage(NFT_MSG_GETRULE, 0);
  Put(*request, NFTA_RULE_TABLE, table);
  Put(*request, NFTA_RULE_CHAIN, chain);
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
  const NlMsgPtr request = TableMessage(NFT_MSG_GETGEN, 0);
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
  messages_.push_back(BatchMessage(NFNL_MSG_BATCH_BEGIN));
  if (generation) Put(*messages_.back(), NFNL_BATCH_GENID, *generation);
}

nl_msg& NftBatch::Append(int type, int flags) {
  messages_.push_back(TableMessage(type, flags));
  return *messages_.back();
}

void NftBatch::AddTable() { Put(Append(NFT_MSG_NEWTABLE, NLM_F_CREATE), NFTA_TABLE_NAME, table_); }

void NftBatch::AddSourceNatChain(const std::string& chain) {
  nl_msg& message = Append(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
  Put(message, NFTA_CHAIN_TABLE, table_);
  Put(message, NFTA_CHAIN_NAME, chain);
  Put(message, NFTA_CHAIN_TYPE, "nat");
  PutNested(message, NFTA_CHAIN_HOOK, [&] {
    Put(message, NFTA_HOOK_HOOKNUM, NF_INET_POST_ROUTING);
    Put(message, NFTA_HOOK_PRIORITY, NF_IP_PRI_NAT_SRC);
  });
}

void NftBatch::FlushChain(const std::string& chain) {
  nl_msg& message = Append(NFT_MSG_DELRULE, 0);
  Put(message, NFTA_RULE_TABLE, table_);
  Put(message, NFTA_RULE_CHAIN, chain);
}

void NftBatch::AddRule(const std::string& chain, const NatRule& rule) {
  const bool ipv4 = rule.source.address.family == IpFamily::kIpv4;
  nl_msg& message = Append(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
  Put(message, NFTA_RULE_TABLE, table_);
  Put(message, NFTA_RULE_CHAIN, chain);
  const std::string note = NoteOf(rule);
  CheckNl(nla_put(&message, NFTA_RULE_USERDATA, static_cast<int>(note.size()), note.data()),
          kBuild);
  PutNested(message, NFTA_RULE_EXPRESSIONS, [&] {
    MatchFamily(message, rule.source.address.family);
    MatchAddress(message, ipv4 ? offsetof(ip, ip_src) : offsetof(ip6_hdr, ip6_src), rule.source);
    MatchAddress(message, ipv4 ? offsetof(ip, ip_dst) : offsetof(ip6_hdr, ip6_dst),
                 rule.destination);
    PutVerdict(message, rule.verdict);
  });
}

void NftBatch::DeleteChain(const std::string& chain) {
  nl_msg& message = Append(NFT_MSG_DELCHAIN, 0);
  Put(message, NFTA_CHAIN_TABLE, table_);
  Put(message, NFTA_CHAIN_NAME, chain);
}

void NftBatch::DeleteEmptyTable() {
  Put(Append(NFT_MSG_DELTABLE, NLM_F_NONREC), NFTA_TABLE_NAME, table_);
}

NlAnswer NftBatch::Commit(const std::string& what) {
  messages_.push_back(BatchMessage(NFNL_MSG_BATCH_END));
  return TransactBatch(*OpenNlSocket(NETLINK_NETFILTER), messages_, what);
}

bool HasRules(const std::string& table, const std::string& chain, std::span<const NatRule> rules,
              const std::string& what) {
  return std::ranges::equal(NotesIn(table, chain, what), rules, {}, {}, NoteOf);
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
