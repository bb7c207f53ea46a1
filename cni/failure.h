#pragma once

#include <exception>

#include "cni/protocol/error.h"

namespace kuryr::cni {

/// What a request that ended with this exception answers: the table of README.md, "Errors".
[[nodiscard]] CniError AsCniError(const std::exception_ptr& failure);

}  // namespace kuryr::cni
