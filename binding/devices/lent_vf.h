#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binding/config.h"
#include "binding/devices/lent_vf_store.h"
#include "binding/devices/vf.h"
#include "binding/netlink/route_socket.h"
#include "binding/plan/attachment.h"
#include "vif/pci_address.h"

namespace kuryr::binding {

/// The note "vf=ADDRESS" in the mark of a VF's link, by which it is looked for in a pod. A pod may
/// change the note, so LentVfStore alone says the VF's owner and earlier state.
[[nodiscard]] std::string NoteOf(const vif::PciAddress& address);
/// nullopt for a link without such a note.
[[nodiscard]] std::optional<vif::PciAddress> NotedVf(const Link& link);

/// The name of a VF's link between two namespaces, and until it gets its own. No other interface
/// has it in either namespace.
[[nodiscard]] std::string NameOnTheWay(const vif::PciAddress& address);

/// The VF's link, if it is idle; otherwise throws HostInterfaceInUse. A link that is lent, or
/// noted, is back from a pod whose namespace ended without a Disconnect, and free.
[[nodiscard]] Link FindIdleLink(RouteSocket& host, const BindingConfig& config, const Vf& vf);
[[noreturn]] void ThrowNotOnHost(const Vf& vf);

/// Moves the link of an idle VF, which has `settings` now, into the request's pod as NameOnTheWay.
/// The store has it before; the mark is set in the same request, and so of two that want a VF one
/// gets it. Throws as FindIdleLink does.
void LendVf(RouteSocket& host, const BindingConfig& config, const Vf& vf,
            const std::optional<VfSettings>& settings, const PlugRequest& request);
/// Brings the VF of the attachment's plug back as it was, from `pod` (null: it is gone) or from
/// where the kernel left it. One of which the store knows nothing gets its name back alone.
/// Idempotent. Throws the first failure, after everything was tried. Whatever else the pod gave the
/// mark to stays in there.
void GiveBackVf(const BindingConfig& config, const Plug& plug, const Attachment& attachment,
                const Netns* pod);
/// Plugs of the VFs whose links bear the attachment's mark, in its namespace or on the host;
/// without their drivers.
[[nodiscard]] std::vector<Plug> FindLentVfs(const BindingConfig& config,
                                            const Attachment& attachment);

/// The link of the physical function. Throws std::system_error, ENODEV.
[[nodiscard]] Link FindPf(RouteSocket& host, const Vf& vf);
/// The settings of `wanted` that differ from `now`. A physical function without settings enforces
/// nothing: throws std::system_error, EOPNOTSUPP, for a VLAN.
[[nodiscard]] VfSettings DifferenceOf(const std::optional<VfSettings>& now,
                                      const VfSettings& wanted, const Vf& vf);
void SetVf(RouteSocket& host, const Vf& vf, const VfSettings& wanted);

}  // namespace kuryr::binding
