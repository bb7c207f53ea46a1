#include "cni/protocol/error.h"
#include "cni/protocol/result_form.h"

namespace kuryr::cni {

using nlohmann::json;

nlohmann::ordered_json EncodeByFamily(const Result& result) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const ResultIp& ip : result.ips) {
    const IpFamily family = ip.address.address.family;
    nlohmann::ordered_json& entry = object[family == IpFamily::kIpv4 ? "ip4" : "ip6"];
    if (!entry.is_null()) continue;
    entry["ip"] = ip.address.ToString();
    if (ip.gateway) entry["gateway"] = ip.gateway->ToString();
    for (const ResultRoute& route : result.routes) {
      if (route.destination.address.family == family) entry["routes"].push_back(EncodeRoute(route));
    }
  }
  if (object.empty()) {
    throw CniError(ErrorCode::kIncompatibleVersion,
                   "a result without addresses cannot be told in this CNI version",
                   "use cniVersion 0.3.0 or newer");
  }
  return object;
}

Result DecodeByFamily(const json& object, const std::string& path) {
  Result result;
  for (const char* family : {"ip4", "ip6"}) {
    const auto* entry = MemberOf(object, family, path);
    if (entry == nullptr) continue;
    const std::string entry_path = path + "." + family;
    result.ips.push_back({.address = NetworkOf(*entry, "ip", entry_path),
                          .gateway = AddressOf(*entry, "gateway", entry_path)});
    ForEachOf(*entry, "routes", entry_path, [&](const auto& route, const std::string& route_path) {
      result.routes.push_back(DecodeRoute(route, route_path));
    });
  }
  return result;
}

}  // namespace kuryr::cni
