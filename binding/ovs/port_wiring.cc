#include "binding/ovs/port_wiring.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/rollback.h"
#include "ovsdb/operation.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ovsdb::Everywhere;
using ovsdb::Select;
using ovsdb::Where;

constexpr int kDeadTag = 4095;
/// Between two looks at the flows of a bridge that has refused those of a port: OpenFlow's flow
/// monitors are not worth their code for a fault so rare.
constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kLongestPause{1000};

/// Places in what Look asks, before a question for each port.
constexpr size_t kNode = 0;
constexpr size_t kBridges = 1;
constexpr size_t kPatches = 2;
constexpr size_t kFirstPort = 3;

std::string Get(const ExternalIds& ids, const std::string& key) {
  const auto found = ids.find(key);
  return found == ids.end() ? "" : found->second;
}

/// The bridge of the chassis with this suffix: "-NAME", or none.
std::string OvnBridge(const ExternalIds& ids, const std::string& suffix) {
  for (const std::string& key : {"ovn-bridge" + suffix, std::string("ovn-bridge")}) {
    if (const std::string bridge = Get(ids, key); !bridge.empty()) return bridge;
  }
  return "br-int";
}

bool IsOvns(const std::string& bridge, const ExternalIds& ids) {
  constexpr std::string_view kRemote = "ovn-remote";
  constexpr std::string_view kNoRemote = "-probe-interval";
  const std::string own = Get(ids, "system-id");
  return std::any_of(ids.begin(), ids.end(), [&](const auto& entry) {
    const auto& [key, remote] = entry;
    if (remote.empty() || !key.starts_with(kRemote)) return false;
    const std::string suffix = key.substr(kRemote.size());
    if (suffix.starts_with(kNoRemote) || (!suffix.empty() && suffix[0] != '-')) return false;
    return OvnBridge(ids, suffix.empty() && !own.empty() ? "-" + own : suffix) == bridge;
  });
}

bool IsNeutronsPatch(const json& interface) {
  const std::string name = interface.at("name");
  return name == "patch-tun" || name.starts_with("int-");
}

bool IsSecure(const json& bridges, const std::string& name) {
  return std::any_of(bridges.begin(), bridges.end(), [&](const json& bridge) {
    return bridge.at("name") == name && bridge.at("fail_mode") == "secure";
  });
}

const json& RowsOf(const json& results, size_t place) { return results.at(place).at("rows"); }

void Pause(std::chrono::milliseconds time, const Deadline& deadline) {
  const auto left = static_cast<int>(std::min(time, deadline.Remaining()).count());
  std::array<pollfd, 1> cancelled = {{{.fd = deadline.cancel_fd, .events = POLLIN, .revents = 0}}};
  if (::poll(cancelled.data(), cancelled.size(), left) > 0) ThrowErrno(ECANCELED, "wait for flows");
  if (deadline.Remaining().count() == 0) ThrowErrno(ETIMEDOUT, "wait for flows");
}

/// Whether ovs-vswitchd cannot be asked, as with a database of another host.
bool IsAway(const std::system_error& e) {
  return e.code() == std::errc::no_such_file_or_directory ||
         e.code() == std::errc::connection_refused || e.code() == std::errc::connection_reset;
}

/// OVN claims a port for a chassis whose name or hostname is what the port asks for.
std::string DescribeChassis(const json& node) {
  if (node.empty()) return "this node";
  const ExternalIds ids = ovsdb::ParseMap(node.at(0).at("external_ids"));
  return "chassis \"" + Printable(Get(ids, "system-id")) + "\" with hostname \"" +
         Printable(Get(ids, "hostname")) + "\"";
}

bool GaveUp(const std::system_error& e) {
  return e.code() == std::errc::timed_out || e.code() == std::errc::operation_canceled;
}

}  // namespace

PortWiring::Who PortWiring::Wait(const std::vector<PlannedPort>& ports, const Deadline& deadline) {
  std::vector<Port> found;
  try {
    client_.Insist(deadline, [&] {
      for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
        found = Follow(ports, deadline);
        missing_ = DescribeFlowless(found, deadline);
        if (missing_.empty()) return;
        Pause(pause, deadline);
      }
    });
  } catch (const OvsdbAway&) {
    throw;
  } catch (const std::system_error& e) {
    if (!GaveUp(e) || missing_.empty()) throw;
    const bool late = e.code() == std::errc::timed_out;
    throw NotWired((late ? "timed out: " : "cancelled: ") + missing_);
  }
  const auto is_other = [&](const Port& port) { return port.who != found.front().who; };
  return found.empty() || std::any_of(found.begin(), found.end(), is_other) ? Who::kNobody
                                                                            : found.front().who;
}

std::string PortWiring::Describe(const std::vector<PlannedPort>& ports, const Deadline& deadline) {
  const std::vector<Port> found = Look(ports, deadline);
  if (const std::string missing = DescribeMissing(found); !missing.empty()) return missing;
  for (const Port& port : found) {
    if (port.who == Who::kOvn) return "OVN has claimed port " + port.name;
    if (port.who == Who::kNeutronAgent) return "Neutron's agent has wired port " + port.name;
  }
  return "";
}

std::string PortWiring::DescribeMissing(const std::vector<Port>& ports) {
  for (const Port& port : ports) {
    if (port.wired) continue;
    const std::string what = "port " + port.name + " on bridge " + port.bridge;
    if (port.who == Who::kOvn)
      return "OVN has not claimed the " + what + " for " + port.chassis +
             " (see ovn-controller of this node, and kuryr-daemon status)";
    if (port.who == Who::kNeutronAgent)
      return "Neutron's agent has not wired " + what +
             " (see neutron-openvswitch-agent of this node)";
  }
  return "";
}

PortWiring::Who PortWiring::WhoWires(const std::string& bridge, const json& node) const {
  if (wait_ == WaitForWiring::kOff) return Who::kNobody;
  if (wait_ == WaitForWiring::kOvn) return Who::kOvn;
  if (wait_ == WaitForWiring::kNeutron) return Who::kNeutronAgent;
  const json& rows = RowsOf(node, kNode);
  if (!rows.empty() && IsOvns(bridge, ovsdb::ParseMap(rows.at(0).at("external_ids"))))
    return Who::kOvn;
  const json& patches = RowsOf(node, kPatches);
  const bool neutrons = IsSecure(RowsOf(node, kBridges), bridge) &&
                        std::any_of(patches.begin(), patches.end(), IsNeutronsPatch);
  return neutrons ? Who::kNeutronAgent : Who::kNobody;
}

std::vector<PortWiring::Port> PortWiring::Look(const std::vector<PlannedPort>& ports,
                                               const Deadline& deadline) {
  json operations =
      json::array({Select("Open_vSwitch", Everywhere(), json::array({"external_ids"})),
                   Select("Bridge", Everywhere(), json::array({"name", "fail_mode"})),
                   Select("Interface", Where("type", "==", "patch"), json::array({"name"}))});
  for (const PlannedPort& port : ports)
    operations.push_back(Select("Interface",
                                Where("external_ids", "includes", ovsdb::Map(port.owner)),
                                json::array({"name", "external_ids", "ofport"})));
  const json results = Transact(operations, deadline);
  std::vector<Port> found;
  for (size_t i = 0; i < ports.size(); ++i) {
    const json& rows = RowsOf(results, kFirstPort + i);
    if (rows.empty()) throw OvsError("a port of the pod on bridge " + ports[i].bridge + " is gone");
    const json& row = rows.at(0);
    const Who who = WhoWires(ports[i].bridge, results);
    const bool installed = Get(ovsdb::ParseMap(row.at("external_ids")), "ovn-installed") == "true";
    const json& number = row.at("ofport");
    found.push_back({.name = row.at("name"),
                     .bridge = ports[i].bridge,
                     .number = number.is_number_integer() ? number.get<int64_t>() : 0,
                     .chassis = DescribeChassis(RowsOf(results, kNode)),
                     .who = who,
                     .wired = who == Who::kNobody || (who == Who::kOvn && installed)});
  }
  ReadTags(found, deadline);
  return found;
}

void PortWiring::ReadTags(std::vector<Port>& ports, const Deadline& deadline) {
  for (Port& port : ports) {
    if (port.who != Who::kNeutronAgent) continue;
    const json results = Transact(
        json::array({Select("Port", Where("name", "==", port.name), json::array({"tag"}))}),
        deadline);
    for (const json& row : RowsOf(results, 0))
      port.wired = row.at("tag").is_number() && row.at("tag") != kDeadTag;
  }
}

bool PortWiring::HasFlows(const Port& port, const Deadline& deadline) {
  uint32_t count = 0;
  try {
    flows_->Use(remote_, port.bridge, deadline, [&](OpenFlow& bridge) {
      const FlowMatch match = FlowMatch().InPort(static_cast<uint32_t>(port.number));
      count = bridge.Count(0, 0, match, deadline);
    });
  } catch (const OvsError&) {
    return true;
  } catch (const std::system_error& e) {
    if (!IsAway(e)) throw;
    return true;
  }
  return count > 0;
}

std::string PortWiring::DescribeFlowless(const std::vector<Port>& ports, const Deadline& deadline) {
  for (const Port& port : ports) {
    if (flows_ == nullptr || port.who != Who::kOvn || port.number < 1 || HasFlows(port, deadline))
      continue;
    return "OVN has claimed port " + port.name + ", and bridge " + port.bridge +
           " has no flows of it: ovs-vswitchd refuses those of ovn-controller (\"OpenFlow error\" "
           "in the log of ovn-controller)";
  }
  return "";
}

/// A monitor's updates only say that there is something new to look at.
std::vector<PortWiring::Port> PortWiring::Follow(const std::vector<PlannedPort>& ports,
                                                 const Deadline& deadline) {
  std::vector<Port> found = Look(ports, deadline);
  missing_ = DescribeMissing(found);
  if (missing_.empty()) return found;
  json where = json::array();
  for (const Port& port : found) where.push_back(json::array({"name", "==", port.name}));
  const auto monitored = [&](const char* column) {
    return json::array({{{"columns", json::array({column})}, {"where", where}}});
  };
  const Rollback stop([this] { client_.StopMonitor(); });
  (void)client_.StartMonitor({{"Interface", monitored("external_ids")}, {"Port", monitored("tag")}},
                             deadline);
  for (;;) {
    found = Look(ports, deadline);
    missing_ = DescribeMissing(found);
    if (missing_.empty()) return found;
    (void)client_.NextUpdate(deadline);
  }
}

json PortWiring::Transact(const json& operations, const Deadline& deadline) {
  return client_.TransactOrThrow(operations, deadline, "read who wires ports");
}

}  // namespace kuryr::binding
