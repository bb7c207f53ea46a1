#pragma once

namespace kuryr::cni {

/// Gives up for good the system calls that lead out of a container, or change more of the node than
/// its networks (seccomp(2)). Mounts, namespaces other than networks, other processes' memory,
/// programs, modules, BPF and the like end with EPERM. For this thread and those that it starts.
/// no_new_privs has to be set. A kernel without seccomp is fine, and logged. Throws
/// std::system_error.
void GiveUpSystemCalls();

}  // namespace kuryr::cni
