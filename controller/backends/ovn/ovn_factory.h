#pragma once

#include <memory>

#include "config/config_file.h"
#include "controller/backends/backend_factory.h"

namespace kuryr::controller::ovn {

inline constexpr const char* kBackendName = "ovn";

/// Reads [ovn] and the pools. Throws ConfigError.
[[nodiscard]] std::shared_ptr<const BackendFactory> ReadBackend(const ConfigFiles& files,
                                                                const GetEnv& getenv);

}  // namespace kuryr::controller::ovn
