#pragma once

#include <string>
#include <string_view>

#include "watcher/api_config.h"

namespace kuryr::watcher {

/// What kubeconfigs (v1 Config) say of their current context: server, authorities, identity.
/// `files` is one file or several as KUBECONFIG has them, separated by ':'. They are merged as
/// client-go merges them: missing ones are skipped, of each name the first definition counts, as
/// does the first current-context. Relative paths in a file start at its folder. Throws ParseError
/// that names file and object for what is malformed, and for what we cannot do: credential plugins,
/// passwords, impersonation, proxies. No text holds a secret.
[[nodiscard]] ApiConfig LoadKubeconfig(const std::string& files);

/// The same without the user: for those who have an identity already.
[[nodiscard]] ApiConfig LoadKubeconfigCluster(const std::string& files);

/// One kubeconfig's text; `file` is its name.
[[nodiscard]] ApiConfig ParseKubeconfig(const std::string& file, std::string_view text);

}  // namespace kuryr::watcher
