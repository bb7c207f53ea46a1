#pragma once

#include <string>
#include <string_view>

#include "watcher/api_config.h"

namespace kuryr::watcher {

/// Loads the current context of kubeconfigs (v1 Config): server, authorities, identity. `files` is
/// one file or several, separated by ':' as in KUBECONFIG. It merges them as client-go does: it
/// skips missing files, and takes the first definition of each name and the first current-context.
/// Relative paths in a file start at its folder. Throws ParseError, which names file and object,
/// for malformed input. It also does so for unsupported credential plugins, passwords,
/// impersonation and proxies. No text holds a secret.
[[nodiscard]] ApiConfig LoadKubeconfig(const std::string& files);

/// Loads server and authorities as LoadKubeconfig does, without the user. For programs that have
/// another identity.
[[nodiscard]] ApiConfig LoadKubeconfigCluster(const std::string& files);

/// Parses one kubeconfig's text; `file` is its name.
[[nodiscard]] ApiConfig ParseKubeconfig(const std::string& file, std::string_view text);

}  // namespace kuryr::watcher
