#pragma once

#include <string>
#include <vector>

#include "controller/backends/backend.h"
#include "controller/backends/pools/allocator.h"

namespace kuryr::controller::pools {

/// The pool that an interface gets its addresses of: the one it names, if its owner may use that.
/// Otherwise the owner's labels choose it, then its namespace; the default comes last. Of several,
/// the first by name; one that lists the namespace goes before one that has them all. Throws
/// BackendError kGone or kRefused.
[[nodiscard]] Allocator& ChoosePool(std::vector<Allocator>& allocators, const PlanRequest& request,
                                    const InterfaceRequest& interface);

/// Whether some owner of this scope may use the pool, by whatever rule.
[[nodiscard]] bool MayUse(const Pool& pool, const std::string& scope);

}  // namespace kuryr::controller::pools
