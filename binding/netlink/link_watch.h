#pragma once

#include <chrono>

#include "base/deadline.h"
#include "binding/netlink/route_socket.h"

namespace kuryr::binding {

/// Returns when the link is gone from the calling thread's namespace, as the kernel tells
/// (RTNLGRP_LINK): no name and no index finds it, though the kernel may still wait for its readers.
/// False when it is there at the deadline, or when that is cancelled. `host` is a socket of the
/// same namespace.
[[nodiscard]] bool WaitUntilGone(RouteSocket& host, const Link& link, const Deadline& deadline);

/// How long an ADD waits for the following: a carrier may be missing for good.
inline constexpr std::chrono::seconds kCarrierTime{1};
/// Returns when the link is `running`. The kernel sees by a worker of its own that a link has got
/// its carrier: until then a bridge takes no frame from its port `link`, and an idle queue may drop
/// what is sent. False when it is not running by the deadline, or gone. `socket` is of the calling
/// thread's namespace.
[[nodiscard]] bool WaitUntilRunning(RouteSocket& socket, const Link& link,
                                    const Deadline& deadline);

}  // namespace kuryr::binding
