#pragma once

#include <string>

#include "base/config_file.h"
#include "watcher/api_config.h"

namespace kuryr::watcher {

struct ApiOptions {
  ApiConfig api;
  /// Which option or kubeconfig switched off the verification of the API server's certificate.
  std::string unverified_by;
};

/// Section [kubernetes] of kuryr.conf, with the original's option names. What api_root and
/// kubeconfig leave open is looked for in the environment: K8S_API, KUBERNETES_SERVICE_HOST and
/// KUBERNETES_SERVICE_PORT_HTTPS or KUBERNETES_SERVICE_PORT, KUBECONFIG. Throws ConfigError.
[[nodiscard]] ApiOptions ReadApiOptions(const ConfigFiles& files, const GetEnv& getenv);

}  // namespace kuryr::watcher
