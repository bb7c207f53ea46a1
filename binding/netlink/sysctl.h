#pragma once

#include <string>

namespace kuryr::binding {

/// Makes `name`, below /proc/sys and of one digit, `value`, in the calling thread's network
/// namespace. False when there is no such setting. Throws std::system_error that names the file.
bool SetSysctl(const std::string& name, char value);

}  // namespace kuryr::binding
