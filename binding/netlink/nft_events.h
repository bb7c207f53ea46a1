#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/deadline.h"
#include "binding/netlink/event_socket.h"

namespace kuryr::binding {

/// Tells that a table of nft(8), of any family, in the calling thread's namespace, its chains or
/// its rules have changed (NFNLGRP_NFTABLES). Not thread-safe.
class NftEvents {
 public:
  using Port = std::function<uint32_t()>;

  /// Listens from now on. Changes from the netlink port `own` do not count. Throws
  /// std::system_error, also where the kernel has no nf_tables.
  explicit NftEvents(std::string table, Port own = {});

  /// Waits for events. Whether the table may have changed. Throws std::system_error, also at the
  /// deadline.
  [[nodiscard]] bool Next(const Deadline& deadline);

 private:
  const std::string table_;
  const Port own_;
  EventSocket socket_;
};

}  // namespace kuryr::binding
