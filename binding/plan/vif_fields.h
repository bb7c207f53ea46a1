#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "binding/netlink/route_socket.h"
#include "binding/plan/attachment.h"
#include "vif/pci_address.h"
#include "vif/vif.h"

namespace kuryr::binding {

/// Fields of a VIF that several drivers read, and decisions by its plan. Strangers write VIFs: the
/// readers throw ParseError with the field's path for an impossible value.

/// The VIF as the kind, or the base of kinds, that `driver` is for; throws UnsupportedVif.
template <class Own>
[[nodiscard]] const Own& OwnVif(const vif::Vif& vif, const char* driver) {
  const Own* own = std::visit(
      []<class Kind>(const Kind& kind) -> const Own* {
        if constexpr (std::is_base_of_v<Own, Kind>) return &kind;
        return nullptr;
      },
      vif);
  if (own == nullptr)
    throw UnsupportedVif(std::string(ClassName(vif)) + " is not for driver " + driver);
  return *own;
}

/// The name of an interface or bridge that is to be made or used on the host; `path` is the
/// field's.
[[nodiscard]] std::string LinkNameOf(const vif::Field<std::string>& field, const std::string& path);
/// `bridge_name` of the VIF or, where that is not set, its network's bridge.
[[nodiscard]] std::string BridgeOf(const vif::Field<std::string>& bridge_name,
                                   const vif::VifBase& vif);
/// Plug::device of a driver whose devices are PCI functions. Throws std::system_error, EINVAL, for
/// anything else.
[[nodiscard]] vif::PciAddress PciAddressOf(const Plug& plug);

inline constexpr uint32_t kEthernetMtu = 1500;  ///< the kernel's choice, ETH_DATA_LEN
/// The MTU of a port of the plug's bridge. A bridge's MTU is its ports' smallest; one that has yet
/// to be made gets ETH_DATA_LEN.
[[nodiscard]] uint32_t MtuOnBridge(RouteSocket& host, const Planned& planned);

}  // namespace kuryr::binding
