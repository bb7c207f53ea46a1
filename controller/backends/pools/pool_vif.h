#pragma once

#include <string>

#include "controller/backends/pools/allocator.h"
#include "controller/backends/pools/holder.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller::pools {

/// A UUID of version 8 (RFC 9562) that follows from the owner's id and the interface alone.
[[nodiscard]] std::string VifIdOf(const std::string& owner_id, const std::string& ifname);
/// The same for a network, of its pool's name.
[[nodiscard]] std::string NetworkIdOf(const std::string& pool);

/// The VIF of a holding that is planned, whose addresses are in networks of `allocator`.
[[nodiscard]] vif::PodVif MakeVif(const std::string& owner_id, const Holding& holding,
                                  const Allocator& allocator);

}  // namespace kuryr::controller::pools
