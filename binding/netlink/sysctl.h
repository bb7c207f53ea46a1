#pragma once

#include <optional>
#include <string>

namespace kuryr::binding {

// Settings below /proc/sys, of one digit, in the calling thread's network namespace. Both functions
// throw std::system_error that names the file.

/// The value; nullopt when there is no such setting.
[[nodiscard]] std::optional<char> ReadSysctl(const std::string& name);
/// Makes `name` `value`. False when there is no such setting.
bool SetSysctl(const std::string& name, char value);

}  // namespace kuryr::binding
