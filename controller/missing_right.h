#pragma once

#include <exception>
#include <string>

namespace kuryr::controller {

/// What the failure says; where the API server has forbidden something, also where the right is
/// given.
[[nodiscard]] std::string WithMissingRight(const std::exception& failure);

}  // namespace kuryr::controller
