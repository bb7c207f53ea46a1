#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ip.h"
#include "binding/netlink/nl_ptr.h"

namespace kuryr::binding {

// The parts of nf_tables' netlink messages: what nft(8) calls statements are expressions here, each
// of which loads, changes or compares a register (linux/netfilter/nf_tables.h).

/// A message of family inet; `type` is NFT_MSG_....
[[nodiscard]] NlMsgPtr NftMessage(int type, int flags);
/// NFNL_MSG_BATCH_BEGIN or _END.
[[nodiscard]] NlMsgPtr NftBatchMessage(int type);

void PutText(nl_msg& message, int attribute, const std::string& text);
/// nf_tables wants numbers in network byte order.
void PutNumber(nl_msg& message, int attribute, uint32_t number);
void PutBytes(nl_msg& message, int attribute, std::span<const uint8_t> bytes);
void PutNested(nl_msg& message, int attribute, const std::function<void()>& fill);
/// NFTA_DATA_VALUE inside `attribute`.
void PutValue(nl_msg& message, int attribute, std::span<const uint8_t> value);

// A packet that an expression does not match is done with the rule.
void MatchFamily(nl_msg& rule, IpFamily family);
void MatchSource(nl_msg& rule, const IpNetwork& network);
void MatchDestination(nl_msg& rule, const IpNetwork& network);
/// Matches where `set`, of the same message batch, does not have the destination.
void MatchDestinationOutside(nl_msg& rule, IpFamily family, const std::string& set, uint32_t id);
enum class PacketEnd { kSource, kDestination };
/// Matches where the table's set of this name has the packet's address. The id is that of a set of
/// the same message batch that has no name of its own.
void MatchAddressIn(nl_msg& rule, PacketEnd end, IpFamily family, const std::string& set,
                    uint32_t id = 0);
/// Matches packets from an address to itself: the set has it twice, as one key.
void MatchToItselfIn(nl_msg& rule, IpFamily family, const std::string& set);
/// The rule's verdict is that of the packet's address in the map, if it is there.
void PutVerdictOf(nl_msg& rule, PacketEnd end, IpFamily family, const std::string& map);
/// Matches TCP, UDP or SCTP (IPPROTO_...); also later fragments, which connection tracking joins.
void MatchProtocol(nl_msg& rule, uint8_t protocol);
/// Matches where the set of the batch has the destination's port, after MatchProtocol.
void MatchPortIn(nl_msg& rule, const std::string& set, uint32_t id);
/// Matches packets that answer an established connection ("ct direction reply").
void MatchReply(nl_msg& rule);
/// Matches "ct state related": errors of ICMP about another connection.
void MatchRelated(nl_msg& rule);
/// Matches packets of connections whose destination was translated ("ct status dnat").
void MatchTranslated(nl_msg& rule);
/// Matches packets that leave by the link of this name.
void MatchOutput(nl_msg& rule, const std::string& link);
/// Matches packets that came by another link, or by none.
void MatchOtherInput(nl_msg& rule, const std::string& link);
/// Matches redirects of ICMP, or of ICMPv6.
void MatchRedirect(nl_msg& rule, IpFamily family);
/// Matches solicitations and advertisements of neighbours (RFC 4861): ND_NEIGHBOR_....
void MatchNeighbourDiscovery(nl_msg& rule, uint8_t type);

/// Packets that a rule matches do not go on in its chain.
void PutReturn(nl_msg& rule);
void PutDrop(nl_msg& rule);
/// Nor in any other chain of the same hook and priority.
void PutAccept(nl_msg& rule);
/// Packets go on in another chain of the table, and then in this one.
void PutJump(nl_msg& rule, const std::string& chain);
void PutMasquerade(nl_msg& rule);

/// The first address of each range of addresses, and the first one behind it: none for a range that
/// ends with the family's last address.
struct NftInterval {
  IpAddress begin;
  std::optional<IpAddress> end;

  bool operator==(const NftInterval&) const = default;
};
/// The addresses in any of the networks of `family`, in order, without overlaps.
[[nodiscard]] std::vector<NftInterval> IntervalsOf(std::span<const IpNetwork> networks,
                                                   IpFamily family);

}  // namespace kuryr::binding
