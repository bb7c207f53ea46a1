#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kuryr {

/// The required owner of a file.
enum class FileOwner { kAnybody, kRootAlone };

/// The text of a regular file of at most 1 MiB; nullopt when there is none. With kRootAlone the
/// file and its folder must be no symbolic links, belong to root or to this process's user, and be
/// writable only by their owner. Throws std::system_error.
[[nodiscard]] std::optional<std::string> ReadFile(const std::filesystem::path& path,
                                                  FileOwner owner);

/// What adds to a configuration: the files FILE.d/*.conf, by their names.
[[nodiscard]] std::vector<std::filesystem::path> DropInsOf(const std::filesystem::path& file);

}  // namespace kuryr
