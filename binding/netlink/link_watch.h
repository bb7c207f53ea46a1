#pragma once

#include "base/deadline.h"
#include "binding/netlink/route_socket.h"

namespace kuryr::binding {

/// Returns when the link is gone from the calling thread's namespace, as the kernel tells
/// (RTNLGRP_LINK): no name and no index finds it, though the kernel may still wait for its readers.
/// False when it is there at the deadline, or when that is cancelled. `host` is a socket of the
/// same namespace.
[[nodiscard]] bool WaitUntilGone(RouteSocket& host, const Link& link, const Deadline& deadline);

}  // namespace kuryr::binding
