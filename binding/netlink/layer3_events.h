#pragma once

#include "base/deadline.h"
#include "binding/netlink/event_socket.h"

namespace kuryr::binding {

/// Tells that addresses of the calling thread's namespace, or routes of its main table, have
/// changed (rtnetlink(7)). Not thread-safe.
class Layer3Events {
 public:
  /// Listens from now on. Throws std::system_error.
  Layer3Events();

  /// Waits for events. Whether an address or such a route may have changed. Throws
  /// std::system_error, also at the deadline.
  [[nodiscard]] bool Next(const Deadline& deadline);

 private:
  EventSocket socket_;
};

}  // namespace kuryr::binding
