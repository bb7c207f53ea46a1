#pragma once

#include <string>
#include <system_error>

namespace kuryr::binding {

/// libnl's own error codes (NLE_*, netlink/errno.h), for what fails in the library before or after
/// the kernel is asked; the kernel's answers keep their errno. Codes compare with std::errc where
/// both have a word for it.
[[nodiscard]] const std::error_category& NlCategory() noexcept;

/// Throws std::system_error when `result`, of a libnl function, is negative; `what` names the
/// action and the object.
void CheckNl(int result, const std::string& what);

}  // namespace kuryr::binding
