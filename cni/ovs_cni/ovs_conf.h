#pragma once

#include <optional>
#include <string>

namespace kuryr::cni {

/// Adds ovs.conf's fields to `input`, a network configuration of ovs-cni, where it has none or an
/// empty one. ovs.conf is the first that exists of configuration_path,
/// /etc/kubernetes/cni/net.d/ovs.d/ovs.conf and /etc/cni/net.d/ovs.d/ovs.conf. Other input is
/// returned as it is. Throws CniError 7 for an ovs.conf that cannot be read; a DEL goes on without
/// it.
[[nodiscard]] std::string WithOvsConf(std::string input, const std::optional<std::string>& command);

}  // namespace kuryr::cni
