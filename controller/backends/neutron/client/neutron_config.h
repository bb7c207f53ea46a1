#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "config/config_file.h"
#include "controller/backends/neutron/client/identity.h"

namespace kuryr::controller::neutron {

/// How Keystone and Neutron are reached. The files are PEM, read anew for every connection.
struct ServerAccess {
  std::string ca_file;               ///< authorities; the system's when empty
  std::string cert_file;             ///< our certificate for TLS, if any
  std::string key_file;              ///< beside the certificate when empty
  bool verify = true;                ///< the servers' certificates
  std::chrono::seconds timeout{60};  ///< of one request, from connecting to the answer's end
};

/// [neutron] of kuryr.conf.
struct NeutronConfig {
  Identity identity;
  std::string endpoint_override;                     ///< Neutron's URL, instead of the catalog's
  std::string region_name;                           ///< whose endpoint; any when empty
  std::vector<std::string> interfaces = {"public"};  ///< in order: the first that there is
  ServerAccess access;
  uint32_t max_requests = 8;  ///< at a time
  uint32_t request_rate = 0;  ///< a second; 0: no limit
};

/// With keystoneauth's option names. What [neutron] leaves open is looked for in the cloud that its
/// option `cloud` names. Without that, auth_url and auth_type, it is looked for in the cloud of
/// OS_CLOUD, or else in the other variables OS_*. Throws ConfigError, which holds no secret.
[[nodiscard]] NeutronConfig ReadNeutronConfig(const ConfigFiles& files, const GetEnv& getenv);

/// Says in the log that certificates are not verified, and that credentials go over http.
void WarnOfInsecureNeutron(const NeutronConfig& config);

}  // namespace kuryr::controller::neutron
