#include "binding/drivers/binding.h"

#include <array>
#include <exception>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/log.h"
#include "binding/neutron_port.h"
#include "binding/permission.h"

namespace kuryr::binding {
namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

/// Const where `Drivers` is.
template <typename Drivers>
using DriverOf = std::conditional_t<std::is_const_v<Drivers>, const Driver, Driver>;

/// By the name in their plugs.
template <typename Drivers>
std::array<std::pair<const char*, DriverOf<Drivers>*>, 7> Named(Drivers& drivers) {
  return {{{OvsDriver::kName, &drivers.ovs},
           {NestedDriver::kName, &drivers.nested},
           {BridgeDriver::kName, &drivers.bridge},
           {HybridDriver::kName, &drivers.hybrid},
           {VhostUserDriver::kName, &drivers.vhostuser},
           {DpdkDriver::kName, &drivers.dpdk},
           {SriovDriver::kName, &drivers.sriov}}};
}

/// A kind of VIF that is not named in here does not compile.
template <typename Drivers>
auto& DriverFor(const vif::Vif& vif, Drivers& drivers) {
  const auto unsupported = [&vif]() -> DriverOf<Drivers>& {
    const std::string plugin = Common(vif).plugin.value_or("");
    throw UnsupportedVif(std::string(ClassName(vif)) + " (plugin \"" + Printable(plugin) +
                         "\") has no driver");
  };
  return std::visit(
      Overloaded{[&](const vif::VifOpenVSwitch&) -> DriverOf<Drivers>& { return drivers.ovs; },
                 [&](const vif::VifVlanNested&) -> DriverOf<Drivers>& { return drivers.nested; },
                 [&](const vif::VifMacvlanNested&) -> DriverOf<Drivers>& { return drivers.nested; },
                 [&](const vif::VifBridge& bridge) -> DriverOf<Drivers>& {
                   if (bridge.plugin.value_or("") == "ovs") return drivers.hybrid;
                   return drivers.bridge;
                 },
                 [&](const vif::VifGeneric&) -> DriverOf<Drivers>& { return unsupported(); },
                 [&](const vif::VifDirect&) -> DriverOf<Drivers>& { return unsupported(); },
                 [&](const vif::VifSriov&) -> DriverOf<Drivers>& { return drivers.sriov; },
                 [&](const vif::VifVHostUser&) -> DriverOf<Drivers>& { return drivers.vhostuser; },
                 [&](const vif::VifHostDevice&) -> DriverOf<Drivers>& { return drivers.sriov; },
                 [&](const vif::VifNestedDpdk&) -> DriverOf<Drivers>& { return drivers.dpdk; },
                 [&](const vif::VifDpdkNested&) -> DriverOf<Drivers>& { return drivers.dpdk; }},
      vif);
}

BridgeKind BridgeKindOf(const Plug& plug) {
  return plug.driver == BridgeDriver::kName ? BridgeKind::kKernel : BridgeKind::kOpenVSwitch;
}

/// Those of Open vSwitch.
std::vector<PlannedPort> PortsOf(const std::vector<Plug>& plugs, const Attachment& attachment) {
  std::vector<PlannedPort> ports;
  for (const Plug& plug : plugs) {
    if (plug.bridge.empty() || plug.driver == BridgeDriver::kName) continue;
    ports.push_back({.owner = OwnerIds(attachment, plug.ifname), .bridge = plug.bridge});
  }
  return ports;
}

}  // namespace

Binding::Binding(const BindingConfig& config)
    : config_(config),
      drivers_{.ovs = OvsDriver(config, shared_),
               .nested = NestedDriver(config),
               .bridge = BridgeDriver(config, shared_),
               .hybrid = HybridDriver(config, shared_),
               .vhostuser = VhostUserDriver(config, shared_),
               .dpdk = DpdkDriver(config),
               .sriov = SriovDriver(config, shared_)} {}

Plug Binding::Plan(const vif::Vif& vif, const std::string& ifname) const {
  const Driver& driver = DriverFor(vif, drivers_);
  // Before it looks at the node.
  for (const auto& [name, one] : Named(drivers_)) {
    if (one == &driver) RequireAllowedDriver(config_, name);
  }
  Plug plug = driver.Plan(vif, ifname);
  RequireAllowedBridge(config_, plug.bridge, BridgeKindOf(plug));
  return plug;
}

std::vector<Interface> Binding::Connect(const PlugRequest& request) {
  return DriverFor(request.vif, drivers_).Connect(request);
}

std::optional<std::string> Binding::Check(const PlugRequest& request) const {
  return DriverFor(request.vif, drivers_).Check(request);
}

void Binding::WaitUntilWired(const std::vector<Plug>& plugs, const Attachment& attachment,
                             const Deadline& deadline) {
  const std::vector<PlannedPort> ports = PortsOf(plugs, attachment);
  if (ports.empty() || config_.wait_for_wiring == WaitForWiring::kOff) return;
  PortWiring(config_.ovsdb_connection, &shared_.ovsdb, config_.wait_for_wiring, config_.ovsdb_wait)
      .Wait(ports, deadline);
}

std::string Binding::DescribeWiring(const std::vector<Plug>& plugs, const Attachment& attachment,
                                    const Deadline& deadline) {
  const std::vector<PlannedPort> ports = PortsOf(plugs, attachment);
  if (ports.empty() || config_.wait_for_wiring == WaitForWiring::kOff) return "";
  return PortWiring(config_.ovsdb_connection, &shared_.ovsdb, config_.wait_for_wiring)
      .Describe(ports, deadline);
}

void Binding::Disconnect(const Plug& plug, const Attachment& attachment, const Deadline& deadline) {
  for (const auto& [name, driver] : Named(drivers_)) {
    if (plug.driver == name) return driver->Disconnect(plug, attachment, deadline);
  }
  throw UnsupportedVif("driver \"" + Printable(plug.driver) + "\" is unknown");
}

template <typename Found, typename Ask>
std::vector<Found> Binding::AskAll(const Ask& ask) {
  std::vector<Found> found;
  for (const auto& [name, driver] : Named(drivers_)) {
    try {
      auto some = ask(*driver);
      found.insert(found.end(), some.begin(), some.end());
    } catch (const std::exception& e) {
      // A node without Open vSwitch is nothing to warn of.
      const auto* error = dynamic_cast<const std::system_error*>(&e);
      const bool absent = error != nullptr && error->code() == std::errc::no_such_file_or_directory;
      Log(absent ? LogLevel::kDebug : LogLevel::kWarning,
          "plugs without a record cannot be searched", {{"driver", name}, {"error", e.what()}});
    }
  }
  return found;
}

std::vector<Plug> Binding::FindPlugs(const Attachment& attachment, const Deadline& deadline) {
  return AskAll<Plug>([&](const Driver& driver) { return driver.FindPlugs(attachment, deadline); });
}

std::vector<FoundPlug> Binding::FindPlugsOf(const std::string& network, const Deadline& deadline) {
  return AskAll<FoundPlug>(
      [&](const Driver& driver) { return driver.FindPlugsOf(network, deadline); });
}

}  // namespace kuryr::binding
