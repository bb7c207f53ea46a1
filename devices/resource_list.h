#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "devices/resource.h"

namespace kuryr::devices {

/// Parses config.json of sriov-network-device-plugin (v3, "Config parameters"). Ignores the case of
/// fields' names, as Go does. Logs and skips an unknown field of a resource, and refuses an unknown
/// selector. Throws ConfigError that names `where`, the resource and the field.
[[nodiscard]] std::vector<Resource> ParseResourceList(std::string_view text,
                                                      const std::string& default_prefix,
                                                      const std::string& where);
/// Reads and parses config.json from a file. Also throws ConfigError if it cannot be read.
[[nodiscard]] std::vector<Resource> ReadResourceList(const std::filesystem::path& file,
                                                     const std::string& default_prefix);

}  // namespace kuryr::devices
