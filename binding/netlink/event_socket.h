#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"

struct nlmsghdr;  // NOLINT(readability-identifier-naming): the kernel's

namespace kuryr::binding {

/// A socket that hears multicast groups of netlink(7) in the calling thread's namespace, from the
/// constructor on. Throws std::system_error, its text beginning with `what`. Not thread-safe.
class EventSocket {
 public:
  /// The groups by their numbers: RTNLGRP_LINK, NFNLGRP_NFTABLES.
  EventSocket(int protocol, const std::vector<uint32_t>& groups, std::string what);

  /// Waits for events, and hands all messages that are there by then to `take`. False where events
  /// were lost: first of all, and after the kernel has dropped some. Throws also at the deadline.
  [[nodiscard]] bool Next(const Deadline& deadline, const std::function<void(nlmsghdr&)>& take);

 private:
  void Await(const Deadline& deadline) const;

  const std::string what_;
  UniqueFd socket_;
  bool is_first_ = true;
};

}  // namespace kuryr::binding
