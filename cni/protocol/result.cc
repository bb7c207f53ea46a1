#include "cni/protocol/result.h"

#include <nlohmann/json.hpp>

#include "cni/protocol/error.h"

namespace kuryr::cni {
namespace {

using Json = nlohmann::ordered_json;

Json DnsJson(const Result& result) {
  Json servers = Json::array();
  for (const IpAddress& server : result.nameservers) servers.push_back(server.ToString());
  return {{"nameservers", servers}};
}

Json RouteJson(const ResultRoute& route) {
  Json json = {{"dst", route.destination.ToString()}};
  if (route.gateway) json["gw"] = route.gateway->ToString();
  return json;
}

/// 0.1.0 and 0.2.0: {"ip4": {"ip", "gateway", "routes"}, "ip6": {...}}.
Json ByFamily(const Result& result) {
  Json json = Json::object();
  for (const ResultIp& ip : result.ips) {
    const IpFamily family = ip.address.address.family;
    Json& entry = json[family == IpFamily::kIpv4 ? "ip4" : "ip6"];
    if (!entry.is_null()) continue;
    entry["ip"] = ip.address.ToString();
    if (ip.gateway) entry["gateway"] = ip.gateway->ToString();
    for (const ResultRoute& route : result.routes) {
      if (route.destination.address.family == family) entry["routes"].push_back(RouteJson(route));
    }
  }
  if (json.empty()) {
    throw CniError(ErrorCode::kIncompatibleVersion,
                   "a result without addresses cannot be told in this CNI version",
                   "use cniVersion 0.3.0 or newer");
  }
  return json;
}

Json Lists(const Result& result, bool with_family) {
  Json json = Json::object();
  for (const ResultInterface& interface : result.interfaces) {
    Json entry = {{"name", interface.name}, {"mac", interface.mac.ToString()}};
    if (!interface.sandbox.empty()) entry["sandbox"] = interface.sandbox;
    json["interfaces"].push_back(std::move(entry));
  }
  for (const ResultIp& ip : result.ips) {
    Json entry = Json::object();
    if (with_family) entry["version"] = ip.address.address.family == IpFamily::kIpv4 ? "4" : "6";
    entry["address"] = ip.address.ToString();
    if (ip.gateway) entry["gateway"] = ip.gateway->ToString();
    entry["interface"] = ip.interface;
    json["ips"].push_back(std::move(entry));
  }
  for (const ResultRoute& route : result.routes) json["routes"].push_back(RouteJson(route));
  return json;
}

}  // namespace

std::string ResultJson(const Result& result, SpecVersion version) {
  Json json = {{"cniVersion", ToString(version)}};
  json.update(version < SpecVersion::k030 ? ByFamily(result)
                                          : Lists(result, version < SpecVersion::k100));
  if (!result.nameservers.empty()) json["dns"] = DnsJson(result);
  return json.dump();
}

}  // namespace kuryr::cni
