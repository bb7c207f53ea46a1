#pragma once

#include <string>

#include "controller/backends/pools/allocator.h"
#include "controller/backends/pools/holder.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller::pools {

/// A UUID of version 8 (RFC 9562), made from the owner's id and the interface name alone.
[[nodiscard]] std::string VifIdOf(const std::string& owner_id, const std::string& ifname);
/// A UUID of version 8 for a pool's network, made from the pool's name.
[[nodiscard]] std::string NetworkIdOf(const std::string& pool);

/// The VIF of a planned holding; `allocator` has the networks of its addresses.
[[nodiscard]] vif::PodVif MakeVif(const std::string& owner_id, const Holding& holding,
                                  const Allocator& allocator);

}  // namespace kuryr::controller::pools
