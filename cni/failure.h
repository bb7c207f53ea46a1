#pragma once

#include <exception>

#include "cni/protocol/error.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// What a request that ended with this exception answers: the table of docs/errors.md.
[[nodiscard]] CniError AsCniError(const std::exception_ptr& failure);

/// The same, with what it is about in its details. A DEL's has other words in place of those that
/// runtimes take for success ("not found", "no such file or directory": go-cni).
[[nodiscard]] CniError ErrorFor(const Request& request, const CniError& error);

}  // namespace kuryr::cni
