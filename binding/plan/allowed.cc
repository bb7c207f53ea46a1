#include "binding/plan/allowed.h"

#include <fnmatch.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {
namespace {

using Names = std::vector<std::string>;

bool Has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A pattern "br*" does not name a bridge that is called just so.
bool IsPattern(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

/// These drivers need Open vSwitch alone, or the link that the operator has named.
Names DefaultDrivers(const BindingConfig& config) {
  Names drivers = {"ovs", "hybrid"};
  if (!config.link_iface.empty()) drivers.emplace_back("nested");
  return drivers;
}

/// The bridges that are allowed where [binding] bridges is not set.
Names DefaultBridges(const BindingConfig& config, BridgeKind kind) {
  return kind == BridgeKind::kOpenVSwitch ? Names{config.ovs_bridge} : Names();
}

const Names& ElsewhereOf(const BindingConfig& config, BridgeKind kind) {
  return kind == BridgeKind::kOpenVSwitch ? config.named.ovs_bridges : config.named.kernel_bridges;
}

/// The line that adds `name` to the present value of `option`.
std::string Remedy(const char* option, const Names& defaults, const std::string& name) {
  std::string text = std::string("\"") + option + " = ";
  for (const std::string& known : defaults) text.append(known).append(", ");
  return text + name + "\"";
}

[[noreturn]] void Refuse(const std::string& what, const std::string& name, bool is_set,
                         const Names& defaults) {
  const std::string option = what + "s";
  std::string text =
      what + " \"" + Printable(name) + "\" is not among [binding] " + option + " of this node: ";
  text += is_set ? "it is allowed once it stands there"
                 : "that is not set, and " + Remedy(option.c_str(), defaults, name) + " allows it";
  throw UnsupportedVif(text);
}

}  // namespace

bool HasPatternFor(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
  });
}

void RequireAllowedDriver(const BindingConfig& config, const std::string& driver) {
  const bool is_set = !config.drivers.empty();
  const Names defaults = DefaultDrivers(config);
  if (Has(is_set ? config.drivers : defaults, driver) || Has(config.named.drivers, driver)) return;
  Refuse("driver", driver, is_set, defaults);
}

void RequireAllowedBridge(const BindingConfig& config, const std::string& bridge, BridgeKind kind) {
  if (bridge.empty() || Has(ElsewhereOf(config, kind), bridge)) return;
  const bool is_set = !config.bridges.empty();
  const Names defaults = DefaultBridges(config, kind);
  if (is_set ? HasPatternFor(config.bridges, bridge) : Has(defaults, bridge)) return;
  Refuse("bridge", bridge, is_set, {config.ovs_bridge});
}

void RequireAllowedHostInterface(const BindingConfig& config, const std::string& name) {
  if (Has(config.named.host_interfaces, name)) return;
  if (HasPatternFor(config.host_interfaces, name)) return;
  throw UnsupportedVif("host interface \"" + Printable(name) +
                       "\" is not among [binding] host_interfaces of this node: " +
                       Remedy("host_interfaces", config.host_interfaces, name) + " allows it");
}

void RequireNamedBridge(const BindingConfig& config, const std::string& bridge, BridgeKind kind) {
  const bool is_named = Has(config.bridges, bridge) && !IsPattern(bridge);
  if (is_named || Has(ElsewhereOf(config, kind), bridge) ||
      Has(DefaultBridges(config, kind), bridge))
    return;
  throw UnsupportedVif("bridge \"" + Printable(bridge) +
                       "\" is missing, and a pattern in [binding] bridges makes none: it is made "
                       "once it stands there in full");
}

}  // namespace kuryr::binding
