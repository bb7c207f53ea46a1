#pragma once

#include "binding/attachment.h"
#include "binding/netlink/link.h"
#include "binding/ovs/open_vswitch.h"

namespace kuryr::binding {

/// Whose a thing of the node is, as one attachment sees it. Names prove nothing: anybody may write
/// another pod's into an annotation.
enum class Owner {
  kOwn,         ///< this attachment's
  kOlder,       ///< of another container of the same pod: left over, Connect replaces it
  kUnfinished,  ///< made for this pod and not marked yet: its maker was killed, or is about to
  kReplaced,    ///< of a pod that this one replaces under its name: that one's DEL is on its way
  kForeign,     ///< anybody else's, or nobody's: it is left alone
};

/// The one rule, by the attachment that the thing names: a link's alias, a port's external_ids.
[[nodiscard]] Owner OwnerOf(const Attachment& named, const Attachment& attachment);
/// The same of a link, which may name none: an alias that is none of ours, or none yet.
[[nodiscard]] Owner OwnerOf(const Link& link, const Attachment& attachment);

/// What Disconnect removes.
[[nodiscard]] constexpr bool IsOwn(Owner owner) {
  return owner == Owner::kOwn || owner == Owner::kUnfinished;
}
/// What Connect removes first. A finished one of this container is none: that is another VIF with
/// the same name, just made.
[[nodiscard]] constexpr bool IsLeftover(Owner owner) {
  return owner == Owner::kOlder || owner == Owner::kUnfinished;
}

/// Whether a port of Open vSwitch goes for one of its name: it is of the same type, and of the same
/// container and network. Without a type, the same Neutron port will do: the mark on the link
/// guards a living pod's. With one, nothing else guards it, and it has to be the same pod's in
/// another container.
[[nodiscard]] bool MayReplace(const PortState& there, const OvsPort& wanted);

}  // namespace kuryr::binding
