#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "binding/netlink/link.h"
#include "binding/netns.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// The link that has a VLAN id of a parent link, wherever on the node it is.
struct VlanHolder {
  Netns netns;
  std::string where;  ///< the path that led to the namespace
  Link link;
  bool inhabited = true;  ///< a process is in the namespace, or it cannot be known
};

/// Looks through the namespaces of all processes, those beside the attachment's, and /run/netns.
/// Slow (some 20 µs for each of their links): for when the id has turned out to be taken. Whether
/// a namespace is inhabited shows only in the node's PID namespace.
[[nodiscard]] std::optional<VlanHolder> FindVlanHolder(const Link& parent, uint16_t vlan_id,
                                                       const Attachment& attachment);

}  // namespace kuryr::binding
