#include "binding/ovs/node_ids.h"

#include <nlohmann/json.hpp>

#include "ovsdb/operation.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;

json ChangeNodeIds(const char* mutator, const ExternalIds& ids) {
  return ovsdb::Mutate("Open_vSwitch", ovsdb::Everywhere(), "external_ids", mutator,
                       ovsdb::Map(ids));
}

}  // namespace

ExternalIds NodeIds::Find(const Deadline& deadline) {
  const json select = ovsdb::Select("Open_vSwitch", ovsdb::Everywhere(), {"external_ids"});
  const json results =
      client_.TransactOrThrow(json::array({select}), deadline, "find external_ids of the node");
  const json& rows = results.at(0).at("rows");
  if (rows.empty()) throw OvsError("Open vSwitch's database has no row of the node");
  return ovsdb::ParseMap(rows.at(0).at("external_ids"));
}

void NodeIds::Change(const ExternalIds& removed, const ExternalIds& added,
                     const Deadline& deadline) {
  const json operations =
      json::array({ChangeNodeIds("delete", removed), ChangeNodeIds("insert", added)});
  client_.TransactOrThrow(operations, deadline, "change external_ids of the node");
}

}  // namespace kuryr::binding
