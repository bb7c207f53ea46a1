#pragma once

#include <optional>
#include <string>

#include "binding/netlink/link.h"
#include "binding/parts/link_check.h"
#include "binding/parts/part.h"

namespace kuryr::binding {

/// Properties of a pod's veth pair beyond those of the plan.
struct VethSettings {
  /// The kernel's bridge of which the host end is a port, known once the bridge's part is made or
  /// checked. Null: the host end is a port of Open vSwitch, and PortPart awaits it.
  const std::optional<Link>* bridge = nullptr;
  bool hairpin = false;  ///< RouteSocket::SetHairpin
};

/// The pod's veth pair: its end in the pod is born there, and its host end is the plug's
/// host_interface, marked and up.
class VethPart final : public Part {
 public:
  explicit VethPart(PlugSite& site, const VethSettings& settings = {})
      : Part(site), settings_(settings) {}

  void Clear() override;
  void Check(Differences& found) override;
  void Make() override;
  [[nodiscard]] std::optional<Interface> Await() override;
  void Remove(const Attachment& owner) override;

 private:
  [[nodiscard]] const std::string& name() const noexcept { return site().plug().host_interface; }
  [[nodiscard]] WantedLink Wanted() const;
  void Create();

  const VethSettings settings_;
  std::optional<Link> host_end_;  ///< found by Check
};

/// Notes a leftover veth of the host, for Part::Clear. Throws HostInterfaceInUse for any other link
/// of that name. Waits for the DEL of a pod that this one replaces.
void ClearVeth(PlugSite& site, const std::string& name);
/// Leaves the veth to PlugSite::RemoveLinks if it is `owner`'s.
void DiscardVeth(PlugSite& site, const std::string& name, const Attachment& owner);

}  // namespace kuryr::binding
