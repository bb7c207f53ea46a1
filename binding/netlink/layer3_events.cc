#include "binding/netlink/layer3_events.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>

namespace kuryr::binding {
namespace {

/// ovs-vswitchd, pods and the kernel itself change other tables all the time.
bool MayMatter(nlmsghdr& message) {
  if (message.nlmsg_type == RTM_NEWADDR || message.nlmsg_type == RTM_DELADDR) return true;
  if (message.nlmsg_type != RTM_NEWROUTE && message.nlmsg_type != RTM_DELROUTE) return false;
  if (nlmsg_datalen(&message) < static_cast<int>(sizeof(rtmsg))) return false;
  const auto* route = static_cast<const rtmsg*>(nlmsg_data(&message));
  return route->rtm_table == RT_TABLE_MAIN;
}

}  // namespace

Layer3Events::Layer3Events()
    : socket_(NETLINK_ROUTE,
              {RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE},
              "listen to events of addresses and routes") {}

bool Layer3Events::Next(const Deadline& deadline) {
  bool has_changed = false;
  const bool is_complete = socket_.Next(
      deadline, [&](nlmsghdr& message) { has_changed = has_changed || MayMatter(message); });
  return has_changed || !is_complete;
}

}  // namespace kuryr::binding
