#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <vector>

#include "base/unique_fd.h"

namespace kuryr::test {

/// A notice of the kernel on a link, an address or a route (rtnetlink(7)).
struct RouteNotice {
  uint16_t type = 0;       ///< RTM_NEWLINK, for example
  int link = 0;            ///< the link's index; 0 for a route
  unsigned int flags = 0;  ///< IFF_UP, for example; links only
};

std::ostream& operator<<(std::ostream& out, const RouteNotice& notice);

/// Receives the notices that wake a daemon such as ovs-vswitchd: RTMGRP_LINK, addresses and routes
/// of both families. It hears the calling thread's namespace from the constructor on. Throws
/// std::system_error, also after 30 s without a notice. Not thread-safe.
class RouteMonitor {
 public:
  RouteMonitor();

  /// Waits until `is_enough` is true of the notices since the last call; returns them and all that
  /// were on their way. The calling thread is in the constructor's namespace. To mark the end, it
  /// changes the alias of lo, which has to be up.
  std::vector<RouteNotice> Until(
      const std::function<bool(const std::vector<RouteNotice>& notices)>& is_enough);

 private:
  void Take(std::vector<RouteNotice>& notices) const;

  UniqueFd socket_;
};

}  // namespace kuryr::test
