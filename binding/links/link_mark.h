#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "binding/netlink/link.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// The owner of an interface, written on the interface itself (IFLA_IFALIAS, `ip link` shows it):
/// "kuryr-cni NETWORK CONTAINER_ID IFNAME POD_UID NAMESPACE/NAME". OwnerOf goes by the mark. It is
/// there when the state directory is lost.
struct LinkMark {
  Attachment attachment;
  std::string note;  ///< KEY=VALUE that a driver keeps on the link, before the pod's name; or empty

  /// std::nullopt for any other alias.
  [[nodiscard]] static std::optional<LinkMark> Parse(const std::string& alias);
  /// At most 255 bytes: the pod's name is cut. Throws std::system_error, EINVAL, when the rest does
  /// not fit or has blanks.
  [[nodiscard]] std::string ToString() const;
};

/// The group (Link::group) of a link from its birth on. The request that makes a link takes no
/// alias, so the group names the owner until the link has one: it is a hash of the pod, or of the
/// attachment where the runtime tells no UID. Never 0, which is every other link's, nor above what
/// ip(8) takes. The link keeps it.
[[nodiscard]] uint32_t BirthGroup(const Attachment& attachment);
/// The group of links that pods share: a bridge, a VLAN.
inline constexpr uint32_t kSharedBirthGroup = 0x6b757279;  // "kury"

/// Refuses to touch the link: throws HostInterfaceInUse. Only the log names the owner: a pod's user
/// reads its errors, and must not learn another pod's names and ids.
[[noreturn]] void ThrowInUse(const Link& link);

}  // namespace kuryr::binding
