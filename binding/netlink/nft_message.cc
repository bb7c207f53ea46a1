#include "binding/netlink/nft_message.h"

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tuple_common.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <netlink/attr.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "binding/netlink/nl_error.h"

namespace kuryr::binding {
namespace {

constexpr const char* kBuild = "build an nf_tables message";

using Bytes = std::span<const uint8_t>;

NlMsgPtr Message(int type, int flags, nfgenmsg header) {
  NlMsgPtr message = Owned<NlMsgPtr>(nlmsg_alloc_simple(type, flags));
  CheckNl(nlmsg_append(message.get(), &header, sizeof header, NLMSG_ALIGNTO), kBuild);
  return message;
}

template <typename Fill>
void PutExpression(nl_msg& rule, const char* name, Fill fill) {
  PutNested(rule, NFTA_LIST_ELEM, [&] {
    PutText(rule, NFTA_EXPR_NAME, name);
    PutNested(rule, NFTA_EXPR_DATA, fill);
  });
}

void PutCompare(nl_msg& rule, Bytes value, uint32_t operation = NFT_CMP_EQ) {
  PutExpression(rule, "cmp", [&] {
    PutNumber(rule, NFTA_CMP_SREG, NFT_REG_1);
    PutNumber(rule, NFTA_CMP_OP, operation);
    PutValue(rule, NFTA_CMP_DATA, value);
  });
}

void LoadMeta(nl_msg& rule, uint32_t key) {
  PutExpression(rule, "meta", [&] {
    PutNumber(rule, NFTA_META_DREG, NFT_REG_1);
    PutNumber(rule, NFTA_META_KEY, key);
  });
}

void LoadPayload(nl_msg& rule, uint32_t base, size_t offset, size_t size, uint32_t to = NFT_REG_1) {
  PutExpression(rule, "payload", [&] {
    PutNumber(rule, NFTA_PAYLOAD_DREG, to);
    PutNumber(rule, NFTA_PAYLOAD_BASE, base);
    PutNumber(rule, NFTA_PAYLOAD_OFFSET, static_cast<uint32_t>(offset));
    PutNumber(rule, NFTA_PAYLOAD_LEN, static_cast<uint32_t>(size));
  });
}

void Mask(nl_msg& rule, Bytes mask) {
  PutExpression(rule, "bitwise", [&] {
    PutNumber(rule, NFTA_BITWISE_SREG, NFT_REG_1);
    PutNumber(rule, NFTA_BITWISE_DREG, NFT_REG_1);
    PutNumber(rule, NFTA_BITWISE_LEN, static_cast<uint32_t>(mask.size()));
    PutValue(rule, NFTA_BITWISE_MASK, mask);
    PutValue(rule, NFTA_BITWISE_XOR, Bytes(std::array<uint8_t, 16>{}).first(mask.size()));
  });
}

size_t SizeOf(IpFamily family) { return IpAddress{.family = family}.size(); }

size_t SourceOffset(IpFamily family) {
  return family == IpFamily::kIpv4 ? offsetof(ip, ip_src) : offsetof(ip6_hdr, ip6_src);
}

size_t DestinationOffset(IpFamily family) {
  return family == IpFamily::kIpv4 ? offsetof(ip, ip_dst) : offsetof(ip6_hdr, ip6_dst);
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
  LoadPayload(rule, NFT_PAYLOAD_NETWORK_HEADER, offset, size);
  Mask(rule, Bytes(mask).first(size));
  PutCompare(rule, Bytes(value).first(size));
}

std::array<uint8_t, IFNAMSIZ> LinkNameOf(const std::string& link) {
  std::array<uint8_t, IFNAMSIZ> name{};
  std::copy_n(link.begin(), std::min(link.size(), name.size() - 1), name.begin());
  return name;
}

/// `chain`: where a jump leads.
void PutVerdict(nl_msg& rule, uint32_t verdict, const std::string& chain = {}) {
  PutExpression(rule, "immediate", [&] {
    PutNumber(rule, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    PutNested(rule, NFTA_IMMEDIATE_DATA, [&] {
      PutNested(rule, NFTA_DATA_VERDICT, [&] {
        PutNumber(rule, NFTA_VERDICT_CODE, verdict);
        if (!chain.empty()) PutText(rule, NFTA_VERDICT_CHAIN, chain);
      });
    });
  });
}

/// The first address behind the network; nullopt where the family ends with it.
std::optional<IpAddress> FirstBehind(const IpNetwork& network) {
  IpAddress address = network.Masked().address;
  for (int bit = network.prefix_length - 1; bit >= 0; --bit) {
    uint8_t& byte = address.bytes.at(static_cast<size_t>(bit / 8));
    const auto one = static_cast<uint8_t>(0x80 >> (bit % 8));
    byte ^= one;
    if ((byte & one) != 0) return address;
  }
  return std::nullopt;
}

void LoadAddress(nl_msg& rule, PacketEnd end, IpFamily family) {
  const size_t offset =
      end == PacketEnd::kSource ? SourceOffset(family) : DestinationOffset(family);
  LoadPayload(rule, NFT_PAYLOAD_NETWORK_HEADER, offset, SizeOf(family));
}

/// The set has what is loaded.
void LookUp(nl_msg& rule, const std::string& set, uint32_t id, uint32_t flags = 0) {
  PutExpression(rule, "lookup", [&] {
    PutText(rule, NFTA_LOOKUP_SET, set);
    PutNumber(rule, NFTA_LOOKUP_SET_ID, id);
    PutNumber(rule, NFTA_LOOKUP_SREG, NFT_REG_1);
    PutNumber(rule, NFTA_LOOKUP_FLAGS, flags);
  });
}

void LoadConnection(nl_msg& rule, uint32_t key) {
  PutExpression(rule, "ct", [&] {
    PutNumber(rule, NFTA_CT_DREG, NFT_REG_1);
    PutNumber(rule, NFTA_CT_KEY, key);
  });
}

/// Matches where one of these bits is set in the connection's number, which is of the machine's
/// byte order.
void MatchConnectionBits(nl_msg& rule, uint32_t key, uint32_t bits) {
  LoadConnection(rule, key);
  std::array<uint8_t, sizeof bits> mask{};
  std::memcpy(mask.data(), &bits, mask.size());
  Mask(rule, mask);
  PutCompare(rule, std::array<uint8_t, sizeof bits>{}, NFT_CMP_NEQ);
}

void MatchIcmp(nl_msg& rule, IpFamily family, uint8_t type) {
  MatchFamily(rule, family);
  MatchProtocol(rule, family == IpFamily::kIpv4 ? uint8_t{IPPROTO_ICMP} : uint8_t{IPPROTO_ICMPV6});
  LoadPayload(rule, NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1);
  PutCompare(rule, {&type, 1});
}

}  // namespace

NlMsgPtr NftMessage(int type, int flags) {
  return Message((NFNL_SUBSYS_NFTABLES << 8) | type, flags, {.nfgen_family = NFPROTO_INET});
}

NlMsgPtr NftBatchMessage(int type) {
  return Message(type, 0, {.nfgen_family = AF_UNSPEC, .res_id = htons(NFNL_SUBSYS_NFTABLES)});
}

void PutText(nl_msg& message, int attribute, const std::string& text) {
  CheckNl(nla_put_string(&message, attribute, text.c_str()), kBuild);
}

void PutNumber(nl_msg& message, int attribute, uint32_t number) {
  CheckNl(nla_put_u32(&message, attribute, htonl(number)), kBuild);
}

void PutBytes(nl_msg& message, int attribute, Bytes bytes) {
  CheckNl(nla_put(&message, attribute, static_cast<int>(bytes.size()), bytes.data()), kBuild);
}

void PutNested(nl_msg& message, int attribute, const std::function<void()>& fill) {
  nlattr* nested = nla_nest_start(&message, attribute);
  if (nested == nullptr) throw std::bad_alloc();
  fill();
  CheckNl(nla_nest_end(&message, nested), kBuild);
}

void PutValue(nl_msg& message, int attribute, Bytes value) {
  PutNested(message, attribute, [&] { PutBytes(message, NFTA_DATA_VALUE, value); });
}

void MatchFamily(nl_msg& rule, IpFamily family) {
  LoadMeta(rule, NFT_META_NFPROTO);
  const uint8_t protocol =
      family == IpFamily::kIpv4 ? uint8_t{NFPROTO_IPV4} : uint8_t{NFPROTO_IPV6};
  PutCompare(rule, {&protocol, 1});
}

void MatchSource(nl_msg& rule, const IpNetwork& network) {
  MatchAddress(rule, SourceOffset(network.address.family), network);
}

void MatchDestination(nl_msg& rule, const IpNetwork& network) {
  MatchAddress(rule, DestinationOffset(network.address.family), network);
}

void MatchAddressIn(nl_msg& rule, PacketEnd end, IpFamily family, const std::string& set,
                    uint32_t id) {
  LoadAddress(rule, end, family);
  LookUp(rule, set, id);
}

void MatchDestinationOutside(nl_msg& rule, IpFamily family, const std::string& set, uint32_t id) {
  LoadAddress(rule, PacketEnd::kDestination, family);
  LookUp(rule, set, id, NFT_LOOKUP_F_INV);
}

/// A key of several parts is in registers of four bytes that follow each other, from NFT_REG_1 on.
void MatchToItselfIn(nl_msg& rule, IpFamily family, const std::string& set) {
  MatchFamily(rule, family);
  const size_t size = SizeOf(family);
  const uint32_t second = NFT_REG32_00 + static_cast<uint32_t>(size / NFT_REG32_SIZE);
  LoadPayload(rule, NFT_PAYLOAD_NETWORK_HEADER, SourceOffset(family), size);
  LoadPayload(rule, NFT_PAYLOAD_NETWORK_HEADER, DestinationOffset(family), size, second);
  LookUp(rule, set, 0);
}

void PutVerdictOf(nl_msg& rule, PacketEnd end, IpFamily family, const std::string& map) {
  LoadAddress(rule, end, family);
  PutExpression(rule, "lookup", [&] {
    PutText(rule, NFTA_LOOKUP_SET, map);
    PutNumber(rule, NFTA_LOOKUP_SREG, NFT_REG_1);
    PutNumber(rule, NFTA_LOOKUP_DREG, NFT_REG_VERDICT);
  });
}

void MatchProtocol(nl_msg& rule, uint8_t protocol) {
  LoadMeta(rule, NFT_META_L4PROTO);
  PutCompare(rule, {&protocol, 1});
}

void MatchPortIn(nl_msg& rule, const std::string& set, uint32_t id) {
  LoadPayload(rule, NFT_PAYLOAD_TRANSPORT_HEADER, offsetof(udphdr, uh_dport), sizeof(uint16_t));
  LookUp(rule, set, id);
}

void MatchReply(nl_msg& rule) {
  MatchConnectionBits(rule, NFT_CT_STATE, NF_CT_STATE_BIT(IP_CT_ESTABLISHED));
  LoadConnection(rule, NFT_CT_DIRECTION);
  const uint8_t reply = IP_CT_DIR_REPLY;
  PutCompare(rule, {&reply, 1});
}

void MatchRelated(nl_msg& rule) {
  MatchConnectionBits(rule, NFT_CT_STATE, NF_CT_STATE_BIT(IP_CT_RELATED));
}

void MatchTranslated(nl_msg& rule) { MatchConnectionBits(rule, NFT_CT_STATUS, IPS_DST_NAT); }

void MatchOutput(nl_msg& rule, const std::string& link) {
  LoadMeta(rule, NFT_META_OIFNAME);
  PutCompare(rule, LinkNameOf(link));
}

void MatchOtherInput(nl_msg& rule, const std::string& link) {
  LoadMeta(rule, NFT_META_IIFNAME);
  PutCompare(rule, LinkNameOf(link), NFT_CMP_NEQ);
}

void MatchRedirect(nl_msg& rule, IpFamily family) {
  MatchIcmp(rule, family,
            family == IpFamily::kIpv4 ? uint8_t{ICMP_REDIRECT} : uint8_t{ND_REDIRECT});
}

void MatchNeighbourDiscovery(nl_msg& rule, uint8_t type) { MatchIcmp(rule, IpFamily::kIpv6, type); }

void PutReturn(nl_msg& rule) { PutVerdict(rule, static_cast<uint32_t>(NFT_RETURN)); }

void PutDrop(nl_msg& rule) { PutVerdict(rule, NF_DROP); }

void PutAccept(nl_msg& rule) { PutVerdict(rule, NF_ACCEPT); }

void PutJump(nl_msg& rule, const std::string& chain) {
  PutVerdict(rule, static_cast<uint32_t>(NFT_JUMP), chain);
}

void PutMasquerade(nl_msg& rule) {
  // Ports in order collide when two connections to one server begin at the same moment, and the
  // second one's first packet is dropped.
  PutExpression(rule, "masq",
                [&] { PutNumber(rule, NFTA_MASQ_FLAGS, NF_NAT_RANGE_PROTO_RANDOM_FULLY); });
}

std::vector<NftInterval> IntervalsOf(std::span<const IpNetwork> networks, IpFamily family) {
  std::vector<IpNetwork> sorted;
  for (const IpNetwork& network : networks)
    if (network.address.family == family) sorted.push_back(network.Masked());
  std::sort(sorted.begin(), sorted.end());
  std::vector<NftInterval> intervals;
  for (const IpNetwork& network : sorted) {
    const auto end = FirstBehind(network);
    if (intervals.empty() || (intervals.back().end && *intervals.back().end < network.address)) {
      intervals.push_back({network.address, end});
    } else if (intervals.back().end && (!end || *intervals.back().end < *end)) {
      intervals.back().end = end;
    }
  }
  return intervals;
}

}  // namespace kuryr::binding
