#include "binding/ovs/port_rows.h"

#include <nlohmann/json.hpp>

#include "binding/ovs/qos_rows.h"
#include "ovsdb/operation.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ovsdb::Insert;
using ovsdb::NamedUuid;

// 802.1Q reserves it: on a port with this tag no packet goes anywhere.
constexpr int kDeadVlan = 4095;

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

json PolicingOf(const PortLimits& limits) {
  return {{"ingress_policing_rate", limits.policing_rate},
          {"ingress_policing_burst", limits.policing_burst}};
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
  if (port.limits.policing_rate != 0) row.update(PolicingOf(port.limits));
  return row;
}

json VlanColumns(const PortSettings& settings) {
  return {{"tag", Optional(settings.vlan.has_value(), settings.vlan.value_or(0))},
          {"trunks", json::array({"set", settings.trunks})},
          {"vlan_mode", Optional(!settings.vlan_mode.empty(), settings.vlan_mode)}};
}

/// Whether the port's QoS row has to be made anew.
bool LacksQos(const OvsPort& port, const PortState& there, bool with_settings) {
  if (port.limits.max_rate != 0) return there.shaping != ShapingOf(port);
  return with_settings && !port.qos_type.empty() && !there.has_qos;
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
  json row = json::object();
  if (with_settings) row = VlanColumns(port.settings);
  if (LacksQos(port, there, with_settings)) {
    for (json& deletion : QosDeletions(port.name, port.external_ids))
      operations.push_back(std::move(deletion));
    AppendQos(port, operations);
    row["qos"] = NamedUuid("qos");
  }
  if (!row.empty()) operations.push_back(ovsdb::Update("Port", where, row));
  if (port.limits.policing_rate != 0)
    operations.push_back(ovsdb::Update("Interface", where, PolicingOf(port.limits)));
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

json PortColumns() { return json::array({"_uuid", "tag", "trunks", "vlan_mode", "qos"}); }

json InterfaceColumns() {
  return json::array({"type", "external_ids", "mac", "mtu_request", "ofport", "error",
                      "ingress_policing_rate", "ingress_policing_burst"});
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
          .policing_burst = interface.at("ingress_policing_burst").get<uint64_t>(),
          .ofport = ovsdb::ParseOptional<int64_t>(interface.at("ofport")),
          .error = ovsdb::ParseOptional<std::string>(interface.at("error"))};
}

}  // namespace kuryr::binding
