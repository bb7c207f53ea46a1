#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vif/vif.h"

namespace kuryr::binding {

/// What several drivers read of a VIF. Strangers write VIFs: each throws ParseError with the
/// field's path for what cannot be.

/// The name of an interface or bridge that is to be made or used on the host; `path` is the
/// field's.
[[nodiscard]] std::string LinkNameOf(const vif::Field<std::string>& field, const std::string& path);
/// `bridge_name` of the VIF or, where that is not set, its network's bridge.
[[nodiscard]] std::string BridgeOf(const vif::Field<std::string>& bridge_name,
                                   const vif::VifBase& vif);
/// The network's, lowered to `limit` (0 for none); nullopt where the network names none and
/// `fallback`, what the kernel would choose, is within the limit.
[[nodiscard]] std::optional<uint32_t> MtuFor(const vif::VifBase& vif, uint32_t limit,
                                             uint32_t fallback);

inline constexpr uint32_t kVethMtu = 1500;  ///< the kernel's choice, ETH_DATA_LEN

}  // namespace kuryr::binding
