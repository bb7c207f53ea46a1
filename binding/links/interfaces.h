#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "binding/netlink/route_socket.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// A link that has to be there; throws std::system_error, ENODEV.
[[nodiscard]] Link Find(RouteSocket& socket, const std::string& name);
/// As Find, with what RouteSocket::GlanceAt tells.
[[nodiscard]] Link GlanceAt(RouteSocket& socket, const std::string& name);
[[nodiscard]] Interface Describe(const Link& link, bool in_pod);
[[noreturn]] void ThrowTaken(const std::string& ifname);
/// Throws InterfaceExists when `inside`, a socket of the pod's namespace, finds the name.
void RequireFree(RouteSocket& inside, const std::string& ifname);

/// Whether the link has an address other than IPv6's link-local ones.
[[nodiscard]] bool HasGlobalAddress(RouteSocket& socket, const Link& link);

/// A dump in libc: only for the rare cases in which no name is known.
[[nodiscard]] std::vector<std::string> LinkNamesIn(const Netns& netns);
/// The attachment's namespace, while it is at its path; nullopt also for another one there.
[[nodiscard]] std::optional<Netns> NetnsOf(const Attachment& attachment);
/// The links that bear the attachment's mark, in one namespace or in its own.
[[nodiscard]] std::vector<Link> FindMarkedLinksIn(const Netns& netns, const Attachment& attachment);
[[nodiscard]] std::vector<Link> FindMarkedLinks(const Attachment& attachment);

/// One step of a rollback. The failure that led to the rollback is the one to report. This one is
/// logged, and Disconnect removes what stays.
void TryUndo(const std::string& interface, const std::function<void()>& undo) noexcept;

}  // namespace kuryr::binding
