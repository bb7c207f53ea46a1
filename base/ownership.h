#pragma once

#include <filesystem>

namespace kuryr {

/// Requires that only root or this process's user may write the open file. `path` is for the error.
/// Throws std::system_error, EPERM.
void RequireOwn(int fd, const std::filesystem::path& path);
/// Requires that only root or this process's user may write the folder, and that it is no symbolic
/// link. Throws std::system_error, EPERM.
void RequireOwnFolder(const std::filesystem::path& folder);

}  // namespace kuryr
