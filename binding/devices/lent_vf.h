#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/mac.h"
#include "binding/devices/vf.h"
#include "binding/driver.h"
#include "binding/netlink/route_socket.h"
#include "vif/pci_address.h"

namespace kuryr::binding {

/// What a VF in a pod was before, and has to be again. It is kept as note in the VF's mark, which
/// goes with it wherever it is moved.
struct LentVf {
  vif::PciAddress address;
  std::string link;  ///< its name
  MacAddress mac;
  uint32_t mtu = 0;
  std::optional<VfSettings> settings;  ///< both set; nullopt where the physical function has none

  /// nullopt for a link without such a note.
  [[nodiscard]] static std::optional<LentVf> Of(const Link& link);
  /// "vf=ADDRESS,MTU,MAC,MAC OF THE SETTINGS,VLAN,LINK".
  [[nodiscard]] std::string ToNote() const;
};

/// The name of a VF's link between two namespaces, and until somebody gives it its own: no other
/// interface has it, in neither.
[[nodiscard]] std::string NameOnTheWay(const vif::PciAddress& address);

/// The VF's link, if nobody uses it; otherwise throws HostInterfaceInUse. One with the mark of any
/// attachment is back from a pod whose namespace ended without a Disconnect, and free.
[[nodiscard]] Link FindIdleLink(RouteSocket& host, const std::filesystem::path& sysfs,
                                const Vf& vf);
[[noreturn]] void ThrowNotOnHost(const Vf& vf);

/// Moves `link`, an idle VF's, into the request's pod as NameOnTheWay. Its mark is set in the same
/// request: of two that want a VF one gets it, and it is never without an owner.
void LendVf(RouteSocket& host, const Vf& vf, const Link& link, const LentVf& lent,
            const PlugRequest& request);
/// Brings the attachment's VF back as it was, from `pod` (null: it is gone) or from where the
/// kernel left it. Idempotent. Throws the first failure, after everything was tried. Whatever else
/// the pod gave the mark to stays in there.
void GiveBackVf(const std::filesystem::path& sysfs, const vif::PciAddress& address,
                const Attachment& attachment, const Netns* pod);
/// Those that bear the attachment's mark, in its namespace or on the host, with their links.
[[nodiscard]] std::vector<std::pair<Link, LentVf>> FindLentVfs(const std::filesystem::path& sysfs,
                                                               const Attachment& attachment);

/// The link of the physical function. Throws std::system_error, ENODEV.
[[nodiscard]] Link FindPf(RouteSocket& host, const Vf& vf);
/// What of `wanted` is not so `now`. A physical function without settings enforces nothing: throws
/// std::system_error, EOPNOTSUPP, for a VLAN.
[[nodiscard]] VfSettings DifferenceOf(const std::optional<VfSettings>& now,
                                      const VfSettings& wanted, const Vf& vf);
void SetVf(RouteSocket& host, const Vf& vf, const VfSettings& wanted);

}  // namespace kuryr::binding
