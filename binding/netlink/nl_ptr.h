#pragma once

#include <netlink/msg.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <netlink/socket.h>

#include <memory>

namespace kuryr::binding {

/// Deleter for a C object; a handle stays one pointer wide.
template <auto Release>
struct Releaser {
  template <typename T>
  void operator()(T* object) const noexcept {
    Release(object);
  }
};

using NlSocketPtr = std::unique_ptr<nl_sock, Releaser<nl_socket_free>>;
using RtnlLinkPtr = std::unique_ptr<rtnl_link, Releaser<rtnl_link_put>>;

}  // namespace kuryr::binding
