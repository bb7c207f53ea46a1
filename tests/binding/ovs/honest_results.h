#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace kuryr::binding {

/// One row that has every column which is asked for.
inline nlohmann::json RowWith(const nlohmann::json& columns) {
  static const auto kRow = nlohmann::json::parse(R"({
    "_uuid": ["uuid", "36bef046-7da7-43a5-905a-c17899216fcb"], "name": "tap1", "fail_mode": "secure",
    "datapath_id": "0000000000000001", "datapath_type": "netdev", "datapath_types": ["set", ["netdev", "system"]], "next_cfg": 1,
    "cur_cfg": 1, "tag": 7, "trunks": ["set", []], "vlan_mode": ["set", []], "protected": true, "qos": ["set", []],
    "type": "", "ofport": 1, "error": ["set", []], "ports": ["set", []], "options": ["map", []], "ingress_policing_rate": 0,
    "ingress_policing_burst": 0, "other_config": ["map", []], "queues": ["map", []], "mac": ["set", []],
    "mtu_request": ["set", []],
    "external_ids": ["map", [["kuryr-container-id", "c1"], ["kuryr-network", "net"]]]})");
  nlohmann::json row;
  for (const std::string column : columns) row[column] = kRow.at(column);
  return row;
}

inline nlohmann::json HonestResult(const nlohmann::json& operation) {
  const nlohmann::json& op = operation.at("op");
  if (op == "select") return {{"rows", nlohmann::json::array({RowWith(operation.at("columns"))})}};
  if (op == "insert")
    return {{"uuid", nlohmann::json::array({"uuid", "36bef046-7da7-43a5-905a-c17899216fcb"})}};
  if (op == "wait") return nlohmann::json::object();
  return {{"count", 1}};
}

/// A server's answer to "transact" with these params, one result per operation.
inline nlohmann::json HonestResults(const nlohmann::json& params) {
  nlohmann::json results = nlohmann::json::array();
  for (size_t i = 1; i < params.size(); ++i) results.push_back(HonestResult(params.at(i)));
  return results;
}

}  // namespace kuryr::binding
