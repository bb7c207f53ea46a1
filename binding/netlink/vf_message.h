#pragma once

#include <cstdint>
#include <optional>

#include "binding/netlink/link.h"
#include "binding/netlink/nl_ptr.h"

namespace kuryr::binding {

/// Sets the members that `settings` has, for virtual function number `vf` of the physical function
/// `pf`.
[[nodiscard]] NlMsgPtr VfRequest(const Link& pf, uint32_t vf, const VfSettings& settings);

/// The settings of one virtual function, from an RTM_NEWLINK message about its physical function
/// that was asked for with RTEXT_FILTER_VF.
[[nodiscard]] std::optional<VfSettings> ParseVf(nl_msg& message, uint32_t vf);

}  // namespace kuryr::binding
