#pragma once

#include "devices/config.h"

namespace kuryr::devices {

/// Serves the node's device plugins until `stop_fd` is readable. Throws ConfigError.
void Serve(const Config& config, int stop_fd);

}  // namespace kuryr::devices
