#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "binding/difference.h"
#include "binding/netlink/route_socket.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// The planned properties of a link, which is up. An MTU of 0 and an empty kind stand for any.
struct WantedLink {
  std::string name;
  std::string kind;
  std::optional<MacAddress> mac;  ///< unset: any
  uint32_t mtu = 0;
  std::optional<int> master;     ///< the bridge's index, 0 for none; unset: any
  bool marked = true;            ///< the link bears the attachment's mark
  bool makes_checksums = false;  ///< RouteSocket::MakeChecksums
  /// MTU, mark, state and bridge may be mended while the pod runs (MendLink).
  bool is_mendable = false;
  /// A missing link may be made while the pod runs.
  bool is_replaceable = false;
};

/// Adds all differences of the link. Returns the link as it is, or nullopt for one that is missing,
/// of another kind, or another owner's.
std::optional<Link> CheckLink(RouteSocket& socket, const WantedLink& wanted,
                              const Attachment& attachment, Differences& found);
/// Makes MTU, mark, state and bridge of `link` as wanted, where they differ.
void MendLink(RouteSocket& host, const Link& link, const WantedLink& wanted,
              const Attachment& attachment);

}  // namespace kuryr::binding
