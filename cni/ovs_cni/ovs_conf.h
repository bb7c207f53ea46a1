#pragma once

#include <optional>
#include <string>

namespace kuryr::cni {

/// `input`, a network configuration; one of ovs-cni with the fields that it leaves out, or leaves
/// empty, as ovs.conf has them. That is the first that exists of configuration_path,
/// /etc/kubernetes/cni/net.d/ovs.d/ovs.conf and /etc/cni/net.d/ovs.d/ovs.conf. What cannot be read
/// as a configuration is returned as it is. Throws CniError 7 for an ovs.conf that cannot be read;
/// a DEL goes on without it.
[[nodiscard]] std::string WithOvsConf(std::string input, const std::optional<std::string>& command);

}  // namespace kuryr::cni
