#pragma once

#include <optional>
#include <string>

#include "base/deadline.h"
#include "binding/driver.h"
#include "binding/netlink/link_remover.h"
#include "binding/netlink/route_socket.h"

namespace kuryr::binding {

/// Whose the host end of a veth pair is; for every link that is no veth the answer is no.

/// A veth of ours that its maker was killed over before it could mark it: no alias, and never up.
/// Interfaces of others that are in use are up.
[[nodiscard]] bool IsUnfinishedVeth(const Link& link);
[[nodiscard]] bool IsOwnVeth(const Link& link, const Attachment& attachment);
/// An older sandbox's of the same pod. Not one of this container: that is another VIF with the same
/// name, just made.
[[nodiscard]] bool IsLeftoverVeth(const Link& link, const Attachment& attachment);

/// The link `name`. One of a pod that this one replaces (the same namespace and name, another UID)
/// is given some seconds to go, by its event: Kubernetes has no two of a name, so its DEL is
/// under way.
[[nodiscard]] std::optional<Link> FindOnceReplaced(RouteSocket& host, const std::string& name,
                                                   const Attachment& attachment,
                                                   const Deadline& deadline);

/// Both ends go. Nothing happens when there is none, or it is another's.
void DeleteOwnVeth(RouteSocket& host, LinkRemover& links, const std::string& name,
                   const Attachment& attachment);

}  // namespace kuryr::binding
