#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "devices/resource.h"

namespace kuryr::devices {

/// config.json of sriov-network-device-plugin (v3, "Config parameters"). Names of fields count in
/// either case, as in Go; a field of a resource that is unknown is logged and passed over, an
/// unknown selector is not. Throws ConfigError that names `where`, the resource and the field.
[[nodiscard]] std::vector<Resource> ParseResourceList(std::string_view text,
                                                      const std::string& default_prefix,
                                                      const std::string& where);
/// The same of a file. Throws ConfigError also when it cannot be read.
[[nodiscard]] std::vector<Resource> ReadResourceList(const std::filesystem::path& file,
                                                     const std::string& default_prefix);

}  // namespace kuryr::devices
