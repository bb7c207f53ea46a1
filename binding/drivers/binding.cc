#include "binding/drivers/binding.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <type_traits>
#include <variant>

#include "base/error.h"
#include "base/log.h"
#include "binding/neutron_port.h"

namespace kuryr::binding {
namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

/// A kind of VIF that is not named in here does not compile. `drivers`: Drivers, const or not, as
/// is the driver.
template <typename Drivers>
auto& DriverFor(const vif::Vif& vif, Drivers& drivers) {
  using DriverOf = std::conditional_t<std::is_const_v<Drivers>, const Driver, Driver>;
  const auto unsupported = [&vif]() -> DriverOf& {
    const std::string plugin = Common(vif).plugin.value_or("");
    throw UnsupportedVif(std::string(ClassName(vif)) + " (plugin \"" + Printable(plugin) +
                         "\") has no driver");
  };
  return std::visit(
      Overloaded{[&](const vif::VifOpenVSwitch&) -> DriverOf& { return drivers.ovs; },
                 [&](const vif::VifVlanNested&) -> DriverOf& { return drivers.nested; },
                 [&](const vif::VifMacvlanNested&) -> DriverOf& { return drivers.nested; },
                 [&](const vif::VifBridge& bridge) -> DriverOf& {
                   if (bridge.plugin.value_or("") == "ovs") return drivers.hybrid;
                   return drivers.bridge;
                 },
                 [&](const vif::VifGeneric&) -> DriverOf& { return unsupported(); },
                 [&](const vif::VifDirect&) -> DriverOf& { return unsupported(); },
                 [&](const vif::VifSriov&) -> DriverOf& { return drivers.sriov; },
                 [&](const vif::VifVHostUser&) -> DriverOf& { return drivers.vhostuser; },
                 [&](const vif::VifHostDevice&) -> DriverOf& { return drivers.sriov; },
                 [&](const vif::VifNestedDpdk&) -> DriverOf& { return drivers.dpdk; },
                 [&](const vif::VifDpdkNested&) -> DriverOf& { return drivers.dpdk; }},
      vif);
}

/// An empty list allows all; a plug without a bridge needs none.
void RequireAllowed(const std::vector<std::string>& allowed, const std::string& name,
                    const std::string& what) {
  if (allowed.empty() || name.empty()) return;
  if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) return;
  throw UnsupportedVif(what + " \"" + name + "\" is not among [binding] " + what +
                       "s of this node");
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
  Plug plug = DriverFor(vif, drivers_).Plan(vif, ifname);
  RequireAllowed(config_.drivers, plug.driver, "driver");
  RequireAllowed(config_.bridges, plug.bridge, "bridge");
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
  for (const auto& [name, driver] : All()) {
    if (plug.driver == name) return driver->Disconnect(plug, attachment, deadline);
  }
  throw UnsupportedVif("driver \"" + Printable(plug.driver) + "\" is unknown");
}

template <typename Found, typename Ask>
std::vector<Found> Binding::AskAll(const Ask& ask) {
  std::vector<Found> found;
  for (const auto& [name, driver] : All()) {
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

std::array<std::pair<const char*, Driver*>, 7> Binding::All() {
  return {{{OvsDriver::kName, &drivers_.ovs},
           {NestedDriver::kName, &drivers_.nested},
           {BridgeDriver::kName, &drivers_.bridge},
           {HybridDriver::kName, &drivers_.hybrid},
           {VhostUserDriver::kName, &drivers_.vhostuser},
           {DpdkDriver::kName, &drivers_.dpdk},
           {SriovDriver::kName, &drivers_.sriov}}};
}

}  // namespace kuryr::binding
