#pragma once

#include <string>

#include "binding/netlink/link.h"
#include "binding/netlink/nl_ptr.h"

struct ifinfomsg;

namespace kuryr::binding {

/// A request about one link, by the index in `header` or an IFLA_IFNAME to be added.
[[nodiscard]] NlMsgPtr LinkRequest(int type, const ifinfomsg& header);
[[nodiscard]] NlMsgPtr SetUpRequest(const Link& link);
/// Names are as they shall be.
[[nodiscard]] NlMsgPtr VethRequest(const VethPair& pair);

/// The link an RTM_NEWLINK message tells of; `what` was asked for.
[[nodiscard]] Link ParseLink(nl_msg& message, const std::string& what);

}  // namespace kuryr::binding
