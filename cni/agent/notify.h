#pragma once

#include <string_view>

namespace kuryr::cni {

/// Tells systemd, if it started us (sd_notify(3)): "READY=1", "WATCHDOG=1". Does nothing otherwise,
/// and never fails.
void Notify(std::string_view state) noexcept;

}  // namespace kuryr::cni
