#pragma once

#include <cstdint>
#include <string>

#include "binding/netlink/nl_ptr.h"

namespace kuryr::binding {

/// The version that runs in a PCI function ("0000:03:00.0") under a name such as "fw.app.name" (the
/// kernel's Documentation/networking/devlink/devlink-info.rst). Empty where the kernel has no
/// devlink, or the function's driver does not tell it. Asks in the calling thread's network
/// namespace; throws std::system_error when the socket fails.
[[nodiscard]] std::string FindRunningVersion(const std::string& function, const std::string& name);

/// DEVLINK_CMD_INFO_GET to the generic netlink family of that number.
[[nodiscard]] NlMsgPtr DevlinkInfoRequest(uint16_t family, const std::string& function);
/// From its answer; empty where that has no running version of the name.
[[nodiscard]] std::string ParseRunningVersion(nl_msg& info, const std::string& name);

}  // namespace kuryr::binding
