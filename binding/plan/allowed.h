#pragma once

#include <string>
#include <vector>

#include "binding/config.h"

namespace kuryr::binding {

/// Limits of what VIFs may ask of this node. Strangers write VIFs, so a VIF gets only what the
/// operator has named. Each Require... throws UnsupportedVif, which names the option that would
/// allow it. Thread-safe.

/// Open vSwitch's, or the kernel's.
enum class BridgeKind { kOpenVSwitch, kKernel };

void RequireAllowedDriver(const BindingConfig& config, const std::string& driver);
/// Names and patterns of [binding] bridges, and what the configuration names elsewhere. A plug
/// without a bridge needs none.
void RequireAllowedBridge(const BindingConfig& config, const std::string& bridge, BridgeKind kind);
/// For the name of a link that is to be made. Without a limit, a pod could take any name of the
/// node while it lives.
void RequireAllowedHostInterface(const BindingConfig& config, const std::string& name);
/// For a missing bridge, which is made if the operator has named it in full. Patterns make none.
void RequireNamedBridge(const BindingConfig& config, const std::string& bridge, BridgeKind kind);

/// One of the patterns, those of glob(7), fits the name.
[[nodiscard]] bool HasPatternFor(const std::vector<std::string>& patterns, const std::string& name);

}  // namespace kuryr::binding
