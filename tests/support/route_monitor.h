#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <vector>

#include "base/unique_fd.h"

namespace kuryr::test {

/// What the kernel told of links, addresses and routes (rtnetlink(7)).
struct RouteNotice {
  uint16_t type = 0;       ///< RTM_NEWLINK and the like
  int link = 0;            ///< its index; 0 of a route
  unsigned int flags = 0;  ///< of a link: IFF_UP and the like
};

std::ostream& operator<<(std::ostream& out, const RouteNotice& notice);

/// Hears, from the constructor on, what a daemon such as ovs-vswitchd is woken by in the calling
/// thread's namespace: RTMGRP_LINK, addresses and routes of both families. Throws
/// std::system_error; also when nothing more came for 30 s. Not thread-safe.
class RouteMonitor {
 public:
  RouteMonitor();

  /// What came since the last call, when `is_enough` has been true of what it has at hand, in any
  /// order; in the calling thread's namespace, which is the constructor's. Says so to the
  /// namespace itself, by the alias of lo, which has to be up.
  std::vector<RouteNotice> Until(
      const std::function<bool(const std::vector<RouteNotice>& notices)>& is_enough);

 private:
  void Take(std::vector<RouteNotice>& notices) const;

  UniqueFd socket_;
};

}  // namespace kuryr::test
