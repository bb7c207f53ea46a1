#pragma once

#include <cstdint>
#include <optional>

#include "binding/netlink/link.h"
#include "binding/netlink/nl_ptr.h"

namespace kuryr::binding {

/// Sets what `settings` has, for virtual function number `vf` of the physical function `pf`.
[[nodiscard]] NlMsgPtr VfRequest(const Link& pf, uint32_t vf, const VfSettings& settings);

/// What an RTM_NEWLINK message about a physical function, asked for with RTEXT_FILTER_VF, says of
/// one of its virtual functions.
[[nodiscard]] std::optional<VfSettings> ParseVf(nl_msg& message, uint32_t vf);

}  // namespace kuryr::binding
