#include "binding/netlink/nft_events.h"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <utility>

#include "binding/netlink/nl_value.h"

namespace kuryr::binding {
namespace {

// The name of the table has one number in messages on tables, chains, rules and sets.
constexpr int kTableName = NFTA_TABLE_NAME;
static_assert(kTableName == NFTA_CHAIN_TABLE && kTableName == NFTA_RULE_TABLE);

bool IsOf(nlmsghdr& message, const std::string& table) {
  if (NFNL_SUBSYS_ID(message.nlmsg_type) != NFNL_SUBSYS_NFTABLES) return false;
  if (NFNL_MSG_TYPE(message.nlmsg_type) == NFT_MSG_NEWGEN) return false;
  return TextIn(nlmsg_find_attr(&message, sizeof(nfgenmsg), kTableName)) == table;
}

}  // namespace

NftEvents::NftEvents(std::string table, Port own)
    : table_(std::move(table)),
      own_(std::move(own)),
      socket_(NETLINK_NETFILTER, {NFNLGRP_NFTABLES}, "listen to events of nf_tables") {}

bool NftEvents::Next(const Deadline& deadline) {
  bool has_changed = false;
  const bool is_complete = socket_.Next(deadline, [&](nlmsghdr& message) {
    has_changed = has_changed || (IsOf(message, table_) && (!own_ || message.nlmsg_pid != own_()));
  });
  return has_changed || !is_complete;
}

}  // namespace kuryr::binding
