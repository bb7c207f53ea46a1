#pragma once

#include <array>
#include <memory>

#include "config/config_file.h"
#include "controller/backends/backend_factory.h"
#include "controller/backends/neutron/neutron_factory.h"
#include "controller/backends/ovn/ovn_factory.h"
#include "controller/backends/pools/pool_factory.h"

namespace kuryr::controller {

/// The backends. A new one is a folder, a row in here, and its sources in CMakeLists.txt.
struct BackendRow {
  const char* name;  ///< in `[controller] backend`
  /// Reads the backend's sections of kuryr.conf. Throws ConfigError.
  std::shared_ptr<const BackendFactory> (*read)(const ConfigFiles& files, const GetEnv& getenv);
};

/// The first one is the default.
inline constexpr auto kBackends = std::to_array<BackendRow>({
    {.name = pools::kBackendName, .read = pools::ReadBackend},
    {.name = neutron::kBackendName, .read = neutron::ReadBackend},
    {.name = ovn::kBackendName, .read = ovn::ReadBackend},
});

}  // namespace kuryr::controller
