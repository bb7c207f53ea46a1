#include "binding/drivers/binding.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "binding/links/announcement.h"
#include "binding/links/link_mark.h"
#include "binding/netlink/route_socket.h"
#include "binding/parts/port_session.h"
#include "binding/plan/allowed.h"
#include "binding/plan/neutron_port.h"
#include "binding/try_all.h"

namespace kuryr::binding {
namespace {

/// How long an answer of ovs-vswitchd is used again. The question makes it look at all ports of the
/// node (bridge_reconfigure), which takes 0.4 s of a processor for 500 ports of the kernel's
/// datapath, and a kubelet asks every 5 s.
constexpr std::chrono::seconds kAnswerHolds{30};

/// The OpenFlow numbers of ports with flows of ours, by bridge. `bridge` is always one of them.
std::map<std::string, std::set<uint32_t>> FindSecured(OpenVSwitch& ovs, const std::string& bridge,
                                                      const Deadline& deadline) {
  std::map<std::string, std::set<uint32_t>> found = {{bridge, {}}};
  for (const std::string& name : ovs.FindPortNames({{kPortSecurity, "true"}}, deadline)) {
    const auto port = ovs.FindPortState(name, deadline);
    if (port && port->IsUp()) found[port->bridge].insert(static_cast<uint32_t>(port->ofport));
  }
  return found;
}

/// Kinds of VIFs without a driver.
constexpr std::array kUnsupported = {kKind<vif::VifGeneric>, kKind<vif::VifDirect>};

constexpr bool Takes(const DriverRow& row, size_t kind) {
  return std::any_of(row.vifs.begin(), row.vifs.end(),
                     [kind](const AcceptedVif& accepted) { return accepted.kind == kind; });
}

/// A kind of VIF that neither kDrivers nor kUnsupported names does not compile.
constexpr bool IsEveryKindNamed() {
  for (size_t kind = 0; kind < std::variant_size_v<vif::Vif>; ++kind) {
    const bool supported = std::any_of(kDrivers.begin(), kDrivers.end(),
                                       [kind](const DriverRow& row) { return Takes(row, kind); });
    const bool unsupported =
        std::find(kUnsupported.begin(), kUnsupported.end(), kind) != kUnsupported.end();
    if (supported == unsupported) return false;
  }
  return true;
}
static_assert(IsEveryKindNamed());

bool Accepts(const DriverRow& row, size_t kind, const std::string& plugin) {
  return std::any_of(row.vifs.begin(), row.vifs.end(), [&](const AcceptedVif& accepted) {
    if (accepted.kind != kind) return false;
    return accepted.plugin == plugin || (accepted.plugin == "noop" && plugin.empty());
  });
}

/// The driver for the VIF's kind and plugin. Throws UnsupportedVif, which names both.
const DriverRow& DriverRowFor(const vif::Vif& vif) {
  const std::string plugin = Common(vif).plugin.value_or("");
  for (const DriverRow& row : kDrivers) {
    if (Accepts(row, vif.index(), plugin)) return row;
  }
  const bool supported = std::any_of(kDrivers.begin(), kDrivers.end(),
                                     [&](const DriverRow& row) { return Takes(row, vif.index()); });
  const std::string kind(ClassName(vif));
  if (supported) throw UnsupportedVif(kind + " with plugin \"" + Printable(plugin) + "\"");
  throw UnsupportedVif(kind + " (plugin \"" + Printable(plugin) + "\") has no driver");
}

/// Throws UnsupportedVif for an unknown driver.
const DriverRow& RowOf(const Plug& plug) {
  const DriverRow* row = FindDriverRow(plug.driver);
  if (row == nullptr) throw UnsupportedVif("driver \"" + Printable(plug.driver) + "\" is unknown");
  return *row;
}

/// Refuses a name that the operator does not allow. Where a link has it, the error is that link's.
void RequireHostInterface(const BindingConfig& config, const std::string& name) {
  try {
    RequireAllowedHostInterface(config, name);
  } catch (const UnsupportedVif&) {
    if (const auto link = RouteSocket().FindLink(name)) ThrowInUse(*link);
    throw;
  }
}

/// The plugs' ports of Open vSwitch.
std::vector<PlannedPort> PortsOf(const std::vector<Plug>& plugs, const Attachment& attachment) {
  std::vector<PlannedPort> ports;
  for (const Plug& plug : plugs) {
    if (!HasOvsPort(plug)) continue;
    ports.push_back({.owner = OwnerIds(attachment, plug.ifname), .bridge = plug.bridge});
  }
  return ports;
}

/// A failed search for plugs without a record is logged.
void TrySearch(const char* driver, const std::function<void()>& search) {
  try {
    search();
  } catch (const std::exception& e) {
    // A node without Open vSwitch is nothing to warn of.
    const auto* error = dynamic_cast<const std::system_error*>(&e);
    const bool absent = error != nullptr && error->code() == std::errc::no_such_file_or_directory;
    Log(absent ? LogLevel::kDebug : LogLevel::kWarning, "plugs without a record cannot be searched",
        {{"driver", driver}, {"error", e.what()}});
  }
}

template <typename Found>
void Append(const std::vector<Found>& some, std::vector<Found>& all) {
  all.insert(all.end(), some.begin(), some.end());
}

/// Runs `act` with a driver's ParseErrors as MalformedVif.
template <typename Act>
auto OfVif(const Act& act) {
  try {
    return act();
  } catch (const ParseError& e) {
    throw MalformedVif(e);
  }
}

}  // namespace

Binding::Binding(const BindingConfig& config) : context_{.config = config, .shared = shared_} {
  if (config.ovsdb_connection.starts_with("ssl:"))
    OvsdbClient::UseTls(config.ssl_key_file, config.ssl_cert_file, config.ssl_ca_cert_file);
  for (size_t i = 0; i < kDrivers.size(); ++i) drivers_[i] = kDrivers[i].make(context_);
}

Driver& Binding::DriverOf(const DriverRow& row) const {
  return *drivers_.at(static_cast<size_t>(&row - kDrivers.data()));
}

Driver& Binding::DriverOf(const Plug& plug) const { return DriverOf(RowOf(plug)); }

Planned Binding::Plan(const vif::PodVif& vif, const RateLimits& limits) const {
  const DriverRow& row = DriverRowFor(vif.vif);
  // Before the driver looks at the node.
  RequireAllowedDriver(context_.config, row.name);
  Planned planned = OfVif([&] { return DriverOf(row).Plan(vif); });
  const Plug& plug = planned.plug;
  const auto kind = row.ports == OvsPorts::kNone ? BridgeKind::kKernel : BridgeKind::kOpenVSwitch;
  RequireAllowedBridge(context_.config, plug.bridge, kind);
  if (row.has_named_veth) RequireHostInterface(context_.config, plug.host_interface);
  PlanLimits(limits, planned);
  return planned;
}

Planned Binding::PlanWith(const vif::PodVif& vif, const Plug& plug,
                          const RateLimits& limits) const {
  Planned planned = OfVif([&] { return DriverOf(plug).PlanWith(vif, plug); });
  PlanLimits(limits, planned);
  return planned;
}

std::vector<Interface> Binding::Connect(const PlugRequest& request) {
  return OfVif([&] { return DriverOf(request.planned.plug).Connect(request); });
}

Differences Binding::Check(const PlugRequest& request) const {
  return DriverOf(request.planned.plug).Check(request);
}

Differences Binding::Repair(const PlugRequest& request) {
  return DriverOf(request.planned.plug).Repair(request);
}

PortWiring::Who Binding::WaitUntilWired(const std::vector<Plug>& plugs,
                                        const Attachment& attachment, const Deadline& deadline) {
  const std::vector<PlannedPort> ports = PortsOf(plugs, attachment);
  if (ports.empty() || context_.config.wait_for_wiring == WaitForWiring::kOff)
    return PortWiring::Who::kNobody;
  return PortWiring(context_.config.ovsdb_connection, {&shared_.ovsdb, &shared_.flows},
                    context_.config.wait_for_wiring, context_.config.ovsdb_wait)
      .Wait(ports, deadline);
}

std::string Binding::DescribeWiring(const std::vector<Plug>& plugs, const Attachment& attachment,
                                    const Deadline& deadline) {
  const std::vector<PlannedPort> ports = PortsOf(plugs, attachment);
  if (ports.empty() || context_.config.wait_for_wiring == WaitForWiring::kOff) return "";
  return PortWiring(context_.config.ovsdb_connection, {&shared_.ovsdb, &shared_.flows},
                    context_.config.wait_for_wiring)
      .Describe(ports, deadline);
}

/// OVN answers for addresses and knows where MACs are. Each announcement would go to all ports of
/// its switch, and be a flow with as many outputs.
void Binding::Announce(const Planned& planned, const Netns& pod, PortWiring::Who wired_by) const {
  if (planned.l3.addresses.empty() || !RowOf(planned.plug).has_pod_link) return;
  if (wired_by == PortWiring::Who::kOvn && planned.port && HasMacOfAddresses(planned)) return;
  binding::Announce(pod, planned.plug.ifname);
}

void Binding::Disconnect(const std::vector<Plug>& plugs, const Attachment& attachment,
                         const Deadline& deadline) {
  TryAll steps;
  for (auto plug = plugs.rbegin(); plug != plugs.rend(); ++plug)
    steps.Try([&] { DriverOf(*plug).Disconnect(*plug, attachment, deadline); });
  steps.Finish();
}

std::vector<FoundPlug> Binding::FindPlugsWithPorts(const ExternalIds& ids,
                                                   const Deadline& deadline) const {
  return PortSession::AtOnce(context_, deadline).FindPlugs(ids);
}

std::vector<Plug> Binding::FindPlugs(const Attachment& attachment, const Deadline& deadline) {
  std::vector<Plug> plugs;
  TrySearch(kOvsDriver, [&] {
    for (FoundPlug& found : FindPlugsWithPorts(OwnerIds(attachment), deadline))
      plugs.push_back(std::move(found.plug));
  });
  for (const DriverRow& row : kDrivers)
    TrySearch(row.name, [&] { Append(DriverOf(row).FindPlugs(attachment, deadline), plugs); });
  return plugs;
}

std::vector<FoundPlug> Binding::FindPlugsOf(const std::string& network, const Deadline& deadline) {
  std::vector<FoundPlug> plugs;
  TrySearch(kOvsDriver,
            [&] { plugs = FindPlugsWithPorts({{OpenVSwitch::kNetwork, network}}, deadline); });
  for (const DriverRow& row : kDrivers)
    TrySearch(row.name, [&] { Append(DriverOf(row).FindPlugsOf(network, deadline), plugs); });
  return plugs;
}

std::vector<FoundPlug> Binding::FindOvsPlugs(const Deadline& deadline) const {
  return FindPlugsWithPorts({}, deadline);
}

size_t Binding::RemoveStrayFlows(const Deadline& deadline) const {
  Shared& shared = context_.shared;
  const std::string& connection = context_.config.ovsdb_connection;
  OpenVSwitch ovs(connection, &shared.ovsdb, {}, &shared.changes);
  size_t removed = 0;
  for (const auto& [name, ports] : FindSecured(ovs, context_.config.ovs_bridge, deadline)) {
    shared.flows.Use(connection, name, deadline, [&](OpenFlow& bridge) {
      removed += binding::RemoveStrayFlows(
          bridge, [&] { return FindSecured(ovs, name, deadline).at(name); }, deadline);
    });
  }
  return removed;
}

bool Binding::IsOvsServed(const Deadline& deadline) const {
  Shared& shared = context_.shared;
  OpenVSwitch ovs(context_.config.ovsdb_connection, &shared.ovsdb, {}, &shared.changes);
  const bool served = ovs.IsServed(deadline);
  if (served) shared.served_until = Deadline::Clock::now() + kAnswerHolds;
  return served;
}

std::optional<std::string> Binding::FindOvsProblem(const std::string& bridge,
                                                   const Deadline& deadline) const {
  Shared& shared = context_.shared;
  try {
    if (Deadline::Clock::now() >= shared.served_until.load() && !IsOvsServed(deadline))
      return "ovs-vswitchd does not answer (does it run?)";
    return OpenVSwitch(context_.config.ovsdb_connection, &shared.ovsdb, {}, &shared.changes)
        .FindBridgeProblem(bridge, deadline);
  } catch (const std::system_error& e) {
    shared.served_until = Deadline::Clock::time_point();
    return e.what();
  }
}

}  // namespace kuryr::binding
