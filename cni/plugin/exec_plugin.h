#pragma once

#include <string>
#include <vector>

namespace kuryr::cni {

// The interface by which the kubelet executed network plugins before CNI, by its options
// --network-plugin=openstack.org/kuryr and --network-plugin-dir. The calls are "init", "setup
// NAMESPACE POD ID", "teardown NAMESPACE POD ID" and "status NAMESPACE POD ID". Some versions add
// words behind. (Kubernetes before 1.6, pkg/kubelet/network/exec/exec.go)

/// Whether a command line is such a call, and not CNI's or a person's.
[[nodiscard]] bool IsExecCall(const std::vector<std::string>& arguments);

/// Serves such a call; returns the text for stdout, which only "status" fills. The call gives up
/// when `cancel_fd` becomes readable. setup is an ADD and teardown a DEL of interface eth0, of the
/// network in 10-kuryr.conflist of /etc/cni/net.d (or NETCONFPATH). Throws what Serve throws, and
/// CniError 4 for arguments that name no pod or container.
[[nodiscard]] std::string ServeExec(const std::vector<std::string>& arguments, int cancel_fd);

}  // namespace kuryr::cni
