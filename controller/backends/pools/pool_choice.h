#pragma once

#include <string>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/backends/pools/allocator.h"

namespace kuryr::controller::pools {

/// The pool for an interface: the one that it names, if its owner may use that. Otherwise the
/// owner's labels choose, then its namespace, then the default. A pool that lists the namespace
/// goes before one that is for all. Among equals, the first by name is chosen. Nodes have the
/// pool that is for nodes, else the default. Throws PlanError kGone or kRefused.
[[nodiscard]] Allocator& ChoosePool(std::vector<Allocator>& allocators, const PlanRequest& request,
                                    const InterfaceRequest& interface);

/// Whether any rule lets an owner of this scope use the pool.
[[nodiscard]] bool MayUse(const Pool& pool, const std::string& scope);

}  // namespace kuryr::controller::pools
