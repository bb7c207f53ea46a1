#pragma once

#include <map>
#include <string>

#include "base/ip.h"
#include "base/mac.h"
#include "base/unique_fd.h"
#include "binding/netns.h"

namespace kuryr::test {

/// Receives, from the constructor on, the kernel's notices on neighbours of a namespace:
/// RTMGRP_NEIGH, rtnetlink(7). Throws std::system_error, also after 30 s without a notice. Not
/// thread-safe.
class NeighbourTable {
 public:
  explicit NeighbourTable(const binding::Netns& netns);

  /// Returns when the kernel has noted that `address` is at `mac`.
  void WaitFor(const std::string& address, const MacAddress& mac);

 private:
  void Take();

  UniqueFd socket_;
  std::map<IpAddress, MacAddress> noted_;
};

}  // namespace kuryr::test
