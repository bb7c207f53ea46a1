#include <nlohmann/json.hpp>
#include <utility>

#include "binding/ovs/open_vswitch.h"
#include "binding/ovs/qos_rows.h"
#include "ovsdb/operation.h"

// The searches of OpenVSwitch, by names and external_ids.

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ovsdb::Select;
using ovsdb::Where;

}  // namespace

std::vector<std::string> OpenVSwitch::FindNames(const char* table, const ExternalIds& ids,
                                                const Deadline& deadline) {
  const json wanted =
      Select(table, Where("external_ids", "includes", ovsdb::Map(ids)), json::array({"name"}));
  std::vector<std::string> names;
  for (const json& row : Read(wanted, deadline, "find the attachment's ports"))
    names.push_back(row.at("name"));
  return names;
}

std::vector<std::string> OpenVSwitch::FindPortNames(const ExternalIds& ids,
                                                    const Deadline& deadline) {
  return FindNames("Interface", ids, deadline);
}

std::vector<std::string> OpenVSwitch::FindPortNamesOf(const ExternalIds& port_ids,
                                                      const Deadline& deadline) {
  return FindNames("Port", port_ids, deadline);
}

std::string OpenVSwitch::FindBridgeOfInterface(const std::string& name, const Deadline& deadline) {
  const auto uuids = [&](const char* table, const json& where) {
    return Read(Select(table, where, json::array({"_uuid"})), deadline,
                "find the bridge of " + name);
  };
  for (const json& interface : uuids("Interface", Where("name", "==", name))) {
    for (const json& port : uuids("Port", Where("interfaces", "includes", interface.at("_uuid"))))
      return FindBridgeOf(port.at("_uuid").at(1), deadline).value("name", "");
  }
  return "";
}

std::vector<OvsPort> OpenVSwitch::FindPorts(const ExternalIds& owner, const Deadline& deadline) {
  std::vector<OvsPort> ports;
  for (const std::string& name : FindPortNames(owner, deadline)) {
    auto state = FindPortState(name, deadline);
    if (!state) continue;
    ports.push_back({.name = name,
                     .bridge = std::move(state->bridge),
                     .type = std::move(state->type),
                     .external_ids = std::move(state->external_ids)});
  }
  return ports;
}

std::optional<std::string> OpenVSwitch::FindBridgeProblem(const std::string& name,
                                                          const Deadline& deadline) {
  const json rows = Read(Select("Bridge", Where("name", "==", name), json::array({"datapath_id"})),
                         deadline, "find bridge " + name);
  if (rows.empty()) return "bridge " + name + " of Open vSwitch is missing";
  // ovs-vswitchd writes it when it has made the bridge.
  if (rows.at(0).at("datapath_id").is_string()) return std::nullopt;
  return "ovs-vswitchd did not make bridge " + name + WhyNotMade(name, deadline);
}

bool OpenVSwitch::HasBridge(const std::string& name, const Deadline& deadline) {
  const json wanted = Select("Bridge", Where("name", "==", name), json::array({"_uuid"}));
  return !Read(wanted, deadline, "find bridge " + name).empty();
}

bool OpenVSwitch::FindProtected(const std::string& port, const Deadline& deadline) {
  const json results =
      Transact(json::array({Select("Port", Where("name", "==", port), json::array({"protected"}))}),
               deadline, "find whether port " + port + " is protected");
  const json& rows = results.at(0).at("rows");
  return !rows.empty() && rows.at(0).at("protected").get<bool>();
}

std::string OpenVSwitch::FindShaping(const std::string& port, const Deadline& deadline) {
  return ShapingIn(Transact(ShapingSelections(port), deadline, "find the QoS of port " + port));
}

}  // namespace kuryr::binding
