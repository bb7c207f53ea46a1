#include "binding/ovs/qos_rows.h"

#include <map>
#include <nlohmann/json.hpp>

#include "ovsdb/operation.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;
using ovsdb::NamedUuid;
using Options = std::map<std::string, std::string>;

constexpr uint64_t kBitsInByte = 8;

ExternalIds QosIds(const std::string& port, const ExternalIds& port_ids) {
  ExternalIds ids{{OpenVSwitch::kQosPort, port}};
  for (const char* key : {OpenVSwitch::kContainerId, OpenVSwitch::kNetwork}) {
    const auto found = port_ids.find(key);
    if (found != port_ids.end()) ids.insert(*found);
  }
  return ids;
}

/// DPDK's policer counts in bytes, and has no queues.
bool IsPolicer(const OvsPort& port) { return port.qos_type == OpenVSwitch::kDpdkQos; }

/// With linux-htb a queue has the burst.
bool HasQueue(const OvsPort& port) { return port.limits.max_burst != 0 && !IsPolicer(port); }

Options QosOptions(const OvsPort& port) {
  const PortLimits& limits = port.limits;
  if (limits.max_rate == 0) return {};
  if (!IsPolicer(port)) return {{"max-rate", std::to_string(limits.max_rate)}};
  return {{"cir", std::to_string(limits.max_rate / kBitsInByte)},
          {"cbs", std::to_string(limits.max_burst / kBitsInByte)}};
}

/// A min-rate below the max-rate would have the kernel count the burst in too much time.
Options QueueOptions(const OvsPort& port) {
  const std::string rate = std::to_string(port.limits.max_rate);
  return {{"max-rate", rate}, {"min-rate", rate}, {"burst", std::to_string(port.limits.max_burst)}};
}

std::string InWords(const Options& options) {
  std::string words;
  for (const auto& [name, value] : options)
    words.append(" ").append(name).append("=").append(value);
  return words;
}

/// The row of `rows` with this <uuid>; null without one.
const json* FindRow(const json& rows, const json& uuid) {
  for (const json& row : rows) {
    if (row.at("_uuid") == uuid) return &row;
  }
  return nullptr;
}

}  // namespace

void AppendQos(const OvsPort& port, json& operations) {
  const json ids = ovsdb::Map(QosIds(port.name, port.external_ids));
  json row = {{"type", port.qos_type},
              {"other_config", ovsdb::Map(QosOptions(port))},
              {"external_ids", ids}};
  // Queue 0 is for all packets that are given no other.
  if (HasQueue(port))
    row["queues"] = json::array({"map", json::array({json::array({0, NamedUuid("queue")})})});
  operations.push_back(ovsdb::Insert("QoS", "qos", row));
  if (!HasQueue(port)) return;
  operations.push_back(ovsdb::Insert(
      "Queue", "queue", {{"other_config", ovsdb::Map(QueueOptions(port))}, {"external_ids", ids}}));
}

json QosDeletions(const std::string& port, const ExternalIds& port_ids) {
  const json where = ovsdb::Where("external_ids", "includes", ovsdb::Map(QosIds(port, port_ids)));
  return json::array({ovsdb::Delete("QoS", where), ovsdb::Delete("Queue", where)});
}

json LeavingQos(json operations) {
  for (json& operation : operations) {
    const std::string table = operation.value("table", "");
    if (operation.at("op") != "delete" || (table != "QoS" && table != "Queue")) continue;
    const json where = operation.at("where");
    operation = ovsdb::Mutate(table, where, "external_ids", "delete", where.at(0).at(2));
  }
  return operations;
}

std::string ShapingOf(const OvsPort& port) {
  std::string words = port.qos_type + InWords(QosOptions(port));
  if (HasQueue(port)) words += ", queue 0:" + InWords(QueueOptions(port));
  return words;
}

json ShapingSelections(const std::string& port) {
  const json ours =
      ovsdb::Where("external_ids", "includes", ovsdb::Map({{OpenVSwitch::kQosPort, port}}));
  return json::array(
      {ovsdb::Select("Port", ovsdb::Where("name", "==", port), json::array({"qos"})),
       ovsdb::Select("QoS", ours, json::array({"_uuid", "type", "other_config", "queues"})),
       ovsdb::Select("Queue", ours, json::array({"_uuid", "other_config"}))});
}

std::string ShapingIn(const json& results) {
  const auto rows = [&](size_t i) -> const json& { return results.at(i).at("rows"); };
  if (rows(0).empty()) return "no port";
  const json& uuid = rows(0).at(0).at("qos");
  if (uuid == ovsdb::Nothing()) return "no QoS row";
  const json* qos = FindRow(rows(1), uuid);
  if (qos == nullptr) return "another's QoS row";
  std::string words =
      qos->at("type").get<std::string>() + InWords(ovsdb::ParseMap(qos->at("other_config")));
  for (const json& pair : qos->at("queues").at(1)) {
    const json* queue = FindRow(rows(2), pair.at(1));
    words +=
        ", queue " + pair.at(0).dump() + ":" +
        (queue == nullptr ? " another's" : InWords(ovsdb::ParseMap(queue->at("other_config"))));
  }
  return words;
}

}  // namespace kuryr::binding
