#include "binding/ovs/bridge_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "binding/ovs/database.h"
#include "ovsdb/client.h"
#include "ovsdb/operation.h"

namespace kuryr::binding {

using nlohmann::json;

std::vector<std::string> ListBridges(const std::string& remote, const Deadline& deadline) {
  OvsdbClient client(kOpenVSwitchDatabase, remote);
  const json results =
      client.TransactOrThrow(json::array({ovsdb::Select("Bridge", ovsdb::Everywhere(), {"name"})}),
                             deadline, "list bridges");
  std::vector<std::string> names;
  for (const json& bridge : results.at(0).at("rows"))
    names.push_back(bridge.at("name").get<std::string>());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace kuryr::binding
