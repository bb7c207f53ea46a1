#include "binding/ovs/port_events.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "binding/ovs/database.h"
#include "binding/ovs/open_vswitch.h"
#include "ovsdb/operation.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;

/// How long a server that is down is waited for in one call.
constexpr std::chrono::hours kServerPatience{24};

/// A monitor's request for all rows: `known_by` of new ones, and `columns` only when they change.
/// Each ADD and DEL is told, so what is told is short.
json AllRows(const char* known_by, const std::vector<std::string>& columns = {}) {
  json requests = json::array({{{"columns", {known_by}}}});
  if (!columns.empty())
    requests.push_back({{"columns", columns},
                        {"select", {{"initial", false}, {"insert", false}, {"delete", false}}}});
  return requests;
}

/// The row's name, or that of the port whose QoS it is; empty for another's QoS.
std::string NameOf(const json& row) {
  if (row.contains("name")) return row.at("name").get<std::string>();
  if (!row.contains("external_ids")) return "";
  const auto ids = ovsdb::ParseMap(row.at("external_ids"));
  const auto port = ids.find(OpenVSwitch::kQosPort);
  return port == ids.end() ? "" : port->second;
}

/// The row's name, where the update has it: a changed row has it only if it is new.
std::string NameIn(const json& update) {
  for (const char* kind : {"initial", "insert"}) {
    const auto row = update.find(kind);
    if (row != update.end()) return NameOf(*row);
  }
  return "";
}

}  // namespace

PortEvents::PortEvents(const std::string& remote)
    : client_(kOpenVSwitchDatabase, remote, nullptr, kServerPatience) {}

std::optional<std::set<std::string>> PortEvents::Next(const Deadline& deadline) {
  if (std::exchange(is_monitored_, false)) {
    auto changed = Apply(client_.NextUpdate(deadline));
    is_monitored_ = true;
    return changed;
  }
  names_.clear();
  (void)Apply(client_.StartMonitor(
      {{"Open_vSwitch", AllRows("cur_cfg")},
       {"Bridge", AllRows("name")},
       {"Interface",
        AllRows("name", {"external_ids", "ingress_policing_rate", "ingress_policing_burst"})},
       {"Port", AllRows("name", {"tag", "trunks", "vlan_mode", "qos"})},
       {"QoS", AllRows("external_ids", {"type", "other_config", "queues"})},
       {"Queue", AllRows("external_ids", {"other_config"})}},
      deadline));
  is_monitored_ = true;
  return std::nullopt;
}

std::optional<std::set<std::string>> PortEvents::Apply(const json& updates) {
  std::set<std::string> changed;
  bool is_any = false;
  for (const auto& [table, rows] : updates.items()) {
    is_any = is_any || table == "Bridge";
    if (table == "Open_vSwitch") changed.insert(kApplied);
    for (const auto& [uuid, update] : rows.items()) {
      if (const std::string name = NameIn(update); !name.empty()) names_[uuid] = name;
      const auto known = names_.find(uuid);
      if (known == names_.end()) continue;
      changed.insert(known->second);
      if (update.contains("delete")) names_.erase(known);
    }
  }
  if (is_any) return std::nullopt;
  return changed;
}

}  // namespace kuryr::binding
