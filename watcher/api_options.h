#pragma once

#include <string>

#include "config/config_file.h"
#include "watcher/api_config.h"

namespace kuryr::watcher {

struct ApiOptions {
  ApiConfig api;
  /// The option or kubeconfig that switched off the verification of the API server's certificate.
  std::string unverified_by;
};

/// A kubeconfig in place of the server and identity of kuryr.conf, as GetEnv is asked for it: an
/// option of the command line.
inline constexpr const char* kKubeconfigOption = "--kubeconfig";

/// Reads section [kubernetes] of kuryr.conf, with kuryr-kubernetes' option names. Without api_root
/// and kubeconfig it uses the environment: K8S_API, KUBERNETES_SERVICE_HOST and
/// KUBERNETES_SERVICE_PORT_HTTPS or KUBERNETES_SERVICE_PORT, KUBECONFIG. Throws ConfigError.
[[nodiscard]] ApiOptions ReadApiOptions(const ConfigFiles& files, const GetEnv& getenv);

}  // namespace kuryr::watcher
