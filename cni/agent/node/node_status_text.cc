#include "cni/agent/node/node_status_text.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "service/table.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

std::string PathOf(const json& described) {
  std::string path = "node network: " + StringAt(described, "interface");
  if (!described.contains("bridge")) return path;
  path += " ── " + StringAt(described, "bridge") + ", " + StringAt(described, "mac");
  for (const json& address : described.at("addresses")) path += ", " + address.get<std::string>();
  return path + ", port " + StringAt(described, "port") +
         (described.value("active", true) ? "" : ", not active");
}

void PrintChassis(const json& chassis) {
  std::vector<std::vector<std::string>> rows = {{"OVN", "VALUE", "SET BY"}};
  for (const json& setting : chassis)
    rows.push_back({StringAt(setting, "key"), StringAt(setting, "value"),
                    setting.at("ours").get<bool>() ? "kuryr-daemon" : "another"});
  if (rows.size() > 1) std::printf("%s", service::Table(std::move(rows)).c_str());
}

}  // namespace

bool PrintNodeNetwork(const json& described) {
  if (described.is_null()) return true;
  std::printf("%s\n", PathOf(described).c_str());
  for (const json& problem : described.at("problems"))
    std::printf("  ✗ %s\n", problem.get<std::string>().c_str());
  std::vector<std::vector<std::string>> rows = {{"NODE", "PODS", "BY", "ROUTE", "REASON"}};
  for (const json& route : described.at("routes"))
    rows.push_back({StringAt(route, "node"), StringAt(route, "network"), StringAt(route, "via"),
                    StringAt(route, "state"), StringAt(route, "reason")});
  if (rows.size() > 1) std::printf("%s", service::Table(std::move(rows)).c_str());
  PrintChassis(described.at("chassis"));
  return described.at("problems").empty();
}

}  // namespace kuryr::cni
