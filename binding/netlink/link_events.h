#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/deadline.h"
#include "binding/netlink/event_socket.h"

namespace kuryr::binding {

/// Tells which links of the calling thread's namespace were made, changed or removed (rtnetlink(7),
/// RTNLGRP_LINK). Not thread-safe.
class LinkEvents {
 public:
  /// Listens from now on. Throws std::system_error.
  LinkEvents();

  /// Waits for events, and returns the names in all that are there by then. Null where any link may
  /// have changed, as EventSocket::Next says. Throws std::system_error, also at the deadline.
  [[nodiscard]] std::optional<std::set<std::string>> Next(const Deadline& deadline);

 private:
  EventSocket socket_;
};

}  // namespace kuryr::binding
