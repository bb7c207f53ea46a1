#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cni/runtime/plugin_versions.h"

namespace kuryr::cni {

/// A network configuration list, with CNI's plugin portmap behind kuryr-cni. A list that has other
/// plugins already, or that cannot be read, is returned as it is.
[[nodiscard]] std::string WithPortmap(const std::string& conflist);

/// The versions of CNI that a list offers to runtimes: cniVersions, else cniVersion.
[[nodiscard]] std::vector<std::string> OfferedVersions(const nlohmann::ordered_json& list);
/// Those of them that all plugins know, in the same order.
[[nodiscard]] std::vector<std::string> CommonVersions(const nlohmann::ordered_json& list,
                                                      const std::vector<PluginVersions>& plugins);

/// The list, offering only what all its plugins know, whose programs are in `folders`. libcni hands
/// every plugin the newest version of the list that it knows itself: a plugin that does not know
/// that version refuses each call. Returned as it is where nothing has to change. Throws
/// std::runtime_error where they know none in common.
[[nodiscard]] std::string WithKnownVersions(const std::string& conflist,
                                            const std::vector<std::filesystem::path>& folders);

}  // namespace kuryr::cni
