#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "binding/netlink/link_remover.h"
#include "binding/netlink/route_socket.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// Owners of host ends of veth pairs. A link that is no veth is never ours.

/// IsOwn.
[[nodiscard]] bool IsOwnVeth(const Link& link, const Attachment& attachment);
/// IsLeftover.
[[nodiscard]] bool IsLeftoverVeth(const Link& link, const Attachment& attachment);

/// The link `name`. A link of a pod that this one replaces (Owner::kReplaced) has some seconds to
/// go, and its event ends the wait. Kubernetes has no two pods of a name, so its DEL is under way.
[[nodiscard]] std::optional<Link> FindOnceReplaced(RouteSocket& host, const std::string& name,
                                                   const Attachment& attachment,
                                                   const Deadline& deadline);

/// Removes links of the node that this attachment, or its pod, has made.
void RemoveOwnLinks(RouteSocket& host, LinkRemover& links, const std::vector<Link>& own);
/// Both ends go. Nothing happens when there is none, or it is another's.
void DeleteOwnVeth(RouteSocket& host, LinkRemover& links, const std::string& name,
                   const Attachment& attachment);

}  // namespace kuryr::binding
