#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "binding/attachment.h"
#include "binding/netlink/link.h"

namespace kuryr::binding {

/// Whose a host interface is, written on the interface itself (IFLA_IFALIAS, `ip link` shows it):
/// "kuryr-cni NETWORK CONTAINER_ID IFNAME POD_UID NAMESPACE/NAME". It answers when the state
/// directory is lost, and OwnerOf goes by it.
struct LinkMark {
  Attachment attachment;
  std::string note;  ///< KEY=VALUE that a driver keeps on the link, before the pod's name; or empty

  /// std::nullopt for an alias that is none of ours.
  [[nodiscard]] static std::optional<LinkMark> Parse(const std::string& alias);
  /// At most 255 bytes: the pod's name is cut. Throws std::system_error, EINVAL, when the rest does
  /// not fit or has blanks.
  [[nodiscard]] std::string ToString() const;
};

/// A link has no alias yet when it is born: the request that makes it takes none. It takes a group
/// (Link::group), which says whose it is until then: the pod's hash, or the attachment's where the
/// runtime tells no UID. Never 0, which is every other link's, nor above what ip(8) takes. The link
/// keeps it.
[[nodiscard]] uint32_t BirthGroup(const Attachment& attachment);
/// Likewise of what pods share: a bridge, a VLAN.
inline constexpr uint32_t kSharedBirthGroup = 0x6b757279;  // "kury"

/// Refuses to touch the link: throws HostInterfaceInUse. Whose it is, only the log says: the user
/// of a pod reads its errors, and another pod's names and ids are none of his.
[[noreturn]] void ThrowInUse(const Link& link);

}  // namespace kuryr::binding
