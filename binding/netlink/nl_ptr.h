#pragma once

#include <netlink/addr.h>
#include <netlink/msg.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <netlink/socket.h>

#include <memory>
#include <new>

#include "base/releaser.h"

namespace kuryr::binding {

using NlAddrPtr = std::unique_ptr<nl_addr, Releaser<nl_addr_put>>;
using NlMsgPtr = std::unique_ptr<nl_msg, Releaser<nlmsg_free>>;
using NlSocketPtr = std::unique_ptr<nl_sock, Releaser<nl_socket_free>>;
using RtnlAddrPtr = std::unique_ptr<rtnl_addr, Releaser<rtnl_addr_put>>;
using RtnlLinkPtr = std::unique_ptr<rtnl_link, Releaser<rtnl_link_put>>;
using RtnlNexthopPtr = std::unique_ptr<rtnl_nexthop, Releaser<rtnl_route_nh_free>>;
using RtnlRoutePtr = std::unique_ptr<rtnl_route, Releaser<rtnl_route_put>>;

/// Owns what a libnl allocator returned. Throws std::bad_alloc for the null of a failed one.
template <typename Ptr>
[[nodiscard]] Ptr Owned(typename Ptr::pointer object) {
  if (object == nullptr) throw std::bad_alloc();
  return Ptr(object);
}

}  // namespace kuryr::binding
