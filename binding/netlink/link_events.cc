#include "binding/netlink/link_events.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "binding/netlink/nl_value.h"

namespace kuryr::binding {

LinkEvents::LinkEvents() : socket_(NETLINK_ROUTE, {RTNLGRP_LINK}, "listen to events of links") {}

std::optional<std::set<std::string>> LinkEvents::Next(const Deadline& deadline) {
  std::set<std::string> names;
  const bool is_complete = socket_.Next(deadline, [&](nlmsghdr& message) {
    if (message.nlmsg_type != RTM_NEWLINK && message.nlmsg_type != RTM_DELLINK) return;
    const nlattr* name = nlmsg_find_attr(&message, sizeof(ifinfomsg), IFLA_IFNAME);
    if (name != nullptr) names.insert(TextIn(name));
  });
  if (!is_complete) return std::nullopt;
  return names;
}

}  // namespace kuryr::binding
