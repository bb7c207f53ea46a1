#pragma once

#include <exception>

#include "cni/protocol/error.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// The answer of a request that ended with this exception: the table of docs/errors.md.
[[nodiscard]] CniError AsCniError(const std::exception_ptr& failure);

/// The same failure as one that another try may mend: no ADD ends by it.
[[nodiscard]] std::exception_ptr AsPassing(const std::exception_ptr& failure);

/// `error` with the request's pod, container and interface in its details. For a DEL, other words
/// replace those that runtimes take for success ("not found", "no such file or directory": go-cni).
[[nodiscard]] CniError ErrorFor(const Request& request, const CniError& error);

}  // namespace kuryr::cni
