#pragma once

#include "binding/netlink/link.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// The owner of a thing of the node, as one attachment sees it. Names prove nothing: an annotation
/// may name another pod's.
enum class Owner {
  kOwn,         ///< this attachment's
  kOlder,       ///< another container's of the same pod: left over, Connect replaces it
  kUnfinished,  ///< made for this pod and not marked yet: its maker was killed, or is about to
  kReplaced,    ///< a pod's that this one replaces under its name, and whose DEL is on its way
  kForeign,     ///< another owner's, or without an owner: it is left alone
};

/// The one rule, by the attachment that a link's alias or a port's external_ids name.
[[nodiscard]] Owner OwnerOf(const Attachment& named, const Attachment& attachment);
/// The owner of a link, which may have another alias, or none yet.
[[nodiscard]] Owner OwnerOf(const Link& link, const Attachment& attachment);

/// Whether Disconnect removes the thing.
[[nodiscard]] constexpr bool IsOwn(Owner owner) {
  return owner == Owner::kOwn || owner == Owner::kUnfinished;
}
/// Whether Connect removes the thing first. A finished thing of this container stays: it is another
/// VIF's with an equal name, just made.
[[nodiscard]] constexpr bool IsLeftover(Owner owner) {
  return owner == Owner::kOlder || owner == Owner::kUnfinished;
}

/// Whether a port of Open vSwitch makes way for `wanted`, which has its name. It must be of the
/// same type, and of the same container and network. Without a type, the same Neutron port
/// suffices: the mark on the link guards a living pod's port. A port with a type has no such guard,
/// and must be the same pod's in another container.
[[nodiscard]] bool MayReplace(const PortState& there, const OvsPort& wanted);
/// Whether a port of `wanted`'s name may be made as planned again. It has all of `owner`
/// (OwnerIds), or it works on the planned bridge and has lost external_ids: none names another
/// owner or Neutron port. The mark of the port's link has to be looked at besides.
[[nodiscard]] bool MayMend(const PortState& there, const OvsPort& wanted, const ExternalIds& owner);

}  // namespace kuryr::binding
