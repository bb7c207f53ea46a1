#pragma once

#include <filesystem>

namespace kuryr {

/// What a file says is believed only where nobody but root, or this process's user, may write it.
/// `path` is for the error. Throws std::system_error, EPERM.
void RequireOwn(int fd, const std::filesystem::path& path);
/// The same of a folder, which may be no symbolic link either.
void RequireOwnFolder(const std::filesystem::path& folder);

}  // namespace kuryr
