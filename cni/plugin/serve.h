#pragma once

#include <string>
#include <vector>

#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Serves one request by this process alone; returns what goes to stdout, which may be nothing.
/// `config_files` are kuryr.conf, before the one that the network configuration names; empty: the
/// default one. The request gives up when `cancel_fd` becomes readable. Throws what the commands
/// throw.
[[nodiscard]] std::string Serve(const Request& request, std::vector<std::string> config_files,
                                int cancel_fd);

}  // namespace kuryr::cni
