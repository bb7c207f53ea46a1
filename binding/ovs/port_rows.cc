#include "binding/ovs/port_rows.h"

#include <map>
#include <nlohmann/json.hpp>

#include "ovsdb/operation.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ovsdb::Insert;
using ovsdb::NamedUuid;

// 802.1Q reserves it: on a port with this tag no packet goes anywhere.
constexpr int kDeadVlan = 4095;

/// The key in external_ids of QoS rows, beside those of the port's interface, for the port's name.
constexpr const char* kQosPort = "kuryr-port";

/// No element where `has` is false.
json Optional(bool has, const json& value) { return has ? value : ovsdb::Nothing(); }

json PortRowOf(const OvsPort& port) {
  const PortSettings& settings = port.settings;
  json row = {{"name", port.name}, {"interfaces", NamedUuid("interface")}};
  if (port.transient) row["other_config"] = ovsdb::Map({{"transient", "true"}});
  if (port.isolated) {
    row["tag"] = kDeadVlan;
    row["trunks"] = kDeadVlan;
    row["vlan_mode"] = "trunk";
  } else {
    if (settings.vlan) row["tag"] = *settings.vlan;
    if (!settings.trunks.empty()) row["trunks"] = json::array({"set", settings.trunks});
    if (!settings.vlan_mode.empty()) row["vlan_mode"] = settings.vlan_mode;
  }
  if (!settings.external_ids.empty()) row["external_ids"] = ovsdb::Map(settings.external_ids);
  if (!port.qos_type.empty()) row["qos"] = NamedUuid("qos");
  return row;
}

json InterfaceRowOf(const OvsPort& port) {
  const PortSettings& settings = port.settings;
  json row = {{"name", port.name},
              {"type", port.type},
              {"options", ovsdb::Map(port.options)},
              {"external_ids", ovsdb::Map(port.external_ids)}};
  if (port.mtu_request) row["mtu_request"] = *port.mtu_request;
  if (port.mac) row["mac"] = port.mac->ToString();
  if (settings.ofport_request != 0) row["ofport_request"] = settings.ofport_request;
  if (settings.policing_rate != 0) row["ingress_policing_rate"] = settings.policing_rate;
  if (settings.policing_burst != 0) row["ingress_policing_burst"] = settings.policing_burst;
  return row;
}

ExternalIds QosIds(const std::string& port, const ExternalIds& port_ids) {
  ExternalIds ids{{kQosPort, port}};
  for (const char* key : {OpenVSwitch::kContainerId, OpenVSwitch::kNetwork}) {
    const auto found = port_ids.find(key);
    if (found != port_ids.end()) ids.insert(*found);
  }
  return ids;
}

/// The burst is a queue's.
bool HasQueue(const OvsPort& port) { return port.settings.max_burst != 0; }

json QosRowOf(const OvsPort& port) {
  std::map<std::string, std::string> limits;
  if (port.settings.max_rate != 0) limits["max-rate"] = std::to_string(port.settings.max_rate);
  json row = {{"type", port.qos_type},
              {"other_config", ovsdb::Map(limits)},
              {"external_ids", ovsdb::Map(QosIds(port.name, port.external_ids))}};
  if (HasQueue(port))
    row["queues"] = json::array({"map", json::array({json::array({0, NamedUuid("queue")})})});
  return row;
}

/// Queue 0 is for all packets that are given no other. Of a min-rate below the max-rate the kernel
/// would count the burst in too much time.
json QueueRowOf(const OvsPort& port) {
  const std::string rate = std::to_string(port.settings.max_rate);
  const std::string burst = std::to_string(port.settings.max_burst);
  return {{"other_config", ovsdb::Map({{"max-rate", rate}, {"min-rate", rate}, {"burst", burst}})},
          {"external_ids", ovsdb::Map(QosIds(port.name, port.external_ids))}};
}

void AppendQos(const OvsPort& port, json& operations) {
  operations.push_back(Insert("QoS", "qos", QosRowOf(port)));
  if (HasQueue(port)) operations.push_back(Insert("Queue", "queue", QueueRowOf(port)));
}

/// An optional value: the empty set, or the number.
template <typename Number>
std::optional<Number> NumberOf(const json& column) {
  if (!column.is_number_unsigned()) return std::nullopt;
  return column.get<Number>();
}

/// A <set> of one is its element. The database keeps them in order.
std::vector<uint16_t> VlansOf(const json& trunks) {
  if (trunks.is_number_unsigned()) return {trunks.get<uint16_t>()};
  return trunks.at(1).get<std::vector<uint16_t>>();
}

bool IsEmptySet(const json& value) { return value == json::array({"set", json::array()}); }

}  // namespace

json PortInsertions(const OvsPort& port) {
  json operations = json::array({Insert("Interface", "interface", InterfaceRowOf(port)),
                                 Insert("Port", "port", PortRowOf(port))});
  if (!port.qos_type.empty()) AppendQos(port, operations);
  return operations;
}

json PortUpdates(const OvsPort& port, const PortState& there, bool with_settings) {
  const json where = ovsdb::Where("name", "==", port.name);
  json keys = json::array();
  ExternalIds changed;
  for (const auto& [key, value] : port.external_ids) {
    const auto present = there.external_ids.find(key);
    const bool is_present = present != there.external_ids.end();
    if (is_present && (present->second == value || IsChangedByOthers(key))) continue;
    keys.push_back(key);
    changed[key] = value;
  }
  json operations = json::array(
      {ovsdb::Require("Interface", where, "external_ids", ovsdb::Map(there.external_ids)),
       ovsdb::Mutate("Interface", where, "external_ids", "delete", json::array({"set", keys})),
       ovsdb::Mutate("Interface", where, "external_ids", "insert", ovsdb::Map(changed))});
  if (port.mac || port.mtu_request) {
    operations.push_back(ovsdb::Update(
        "Interface", where,
        {{"mac", Optional(port.mac.has_value(), port.mac.value_or(MacAddress{}).ToString())},
         {"mtu_request", Optional(port.mtu_request.has_value(), port.mtu_request.value_or(0))}}));
  }
  if (!with_settings) return operations;
  const PortSettings& settings = port.settings;
  json row = {{"tag", Optional(settings.vlan.has_value(), settings.vlan.value_or(0))},
              {"trunks", json::array({"set", settings.trunks})},
              {"vlan_mode", Optional(!settings.vlan_mode.empty(), settings.vlan_mode)}};
  if (!port.qos_type.empty() && !there.has_qos) {
    for (json& deletion : QosDeletions(port.name, port.external_ids))
      operations.push_back(std::move(deletion));
    AppendQos(port, operations);
    row["qos"] = NamedUuid("qos");
  }
  operations.push_back(ovsdb::Update("Port", where, row));
  operations.push_back(ovsdb::Update("Interface", where,
                                     {{"ingress_policing_rate", settings.policing_rate},
                                      {"ingress_policing_burst", settings.policing_burst}}));
  return operations;
}

void AppendConfigNumber(json& operations) {
  operations.push_back(ovsdb::Mutate("Open_vSwitch", ovsdb::Everywhere(), "next_cfg", "+=", 1));
  operations.push_back(
      ovsdb::Select("Open_vSwitch", ovsdb::Everywhere(), json::array({"next_cfg"})));
}

ConfigNumber ReadConfigNumber(const json& results) {
  const json& rows = results.back().at("rows");
  if (rows.empty()) throw OvsError("OVSDB has no Open_vSwitch record (ovs-vsctl init)");
  return rows.at(0).at("next_cfg").get_ref<const ConfigNumber&>();
}

json QosDeletions(const std::string& port, const ExternalIds& port_ids) {
  const json where = ovsdb::Where("external_ids", "includes", ovsdb::Map(QosIds(port, port_ids)));
  return json::array({ovsdb::Delete("QoS", where), ovsdb::Delete("Queue", where)});
}

json PortColumns() { return json::array({"_uuid", "tag", "trunks", "vlan_mode", "qos"}); }

json InterfaceColumns() {
  return json::array(
      {"type", "external_ids", "mac", "mtu_request", "ofport", "error", "ingress_policing_rate"});
}

PortState StateOf(const json& port, const json& interface) {
  return {.type = interface.at("type").get<std::string>(),
          .external_ids = ovsdb::ParseMap(interface.at("external_ids")),
          .mtu_request = NumberOf<uint32_t>(interface.at("mtu_request")),
          .mac = MacAddress::Parse(ovsdb::ParseOptional<std::string>(interface.at("mac"))),
          .vlan = NumberOf<uint16_t>(port.at("tag")),
          .vlan_mode = ovsdb::ParseOptional<std::string>(port.at("vlan_mode")),
          .trunks = VlansOf(port.at("trunks")),
          .has_qos = !IsEmptySet(port.at("qos")),
          .policing_rate = interface.at("ingress_policing_rate").get<uint64_t>(),
          .ofport = ovsdb::ParseOptional<int64_t>(interface.at("ofport")),
          .error = ovsdb::ParseOptional<std::string>(interface.at("error"))};
}

}  // namespace kuryr::binding
