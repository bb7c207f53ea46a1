#include "cni/protocol/result_form.h"

namespace kuryr::cni {
namespace {

using Json = nlohmann::ordered_json;
using nlohmann::json;

enum class Form { kWithIpVersion, k100, k110 };

void SetIf(Json& object, const char* name, const std::optional<uint32_t>& value) {
  if (value) object[name] = *value;
}

void SetIf(Json& object, const char* name, const std::string& value) {
  if (!value.empty()) object[name] = value;
}

Json EncodeInterface(const ResultInterface& interface, Form form) {
  Json object = {{"name", interface.name}};
  SetIf(object, "mac", interface.mac);
  if (form == Form::k110 && interface.mtu != 0) object["mtu"] = interface.mtu;
  SetIf(object, "sandbox", interface.sandbox);
  if (form == Form::k110) {
    SetIf(object, "socketPath", interface.socket_path);
    SetIf(object, "pciID", interface.pci_id);
  }
  return object;
}

Json EncodeIp(const ResultIp& ip, Form form) {
  Json object = Json::object();
  if (form == Form::kWithIpVersion)
    object["version"] = ip.address.address.family == IpFamily::kIpv4 ? "4" : "6";
  object["address"] = ip.address.ToString();
  if (ip.gateway) object["gateway"] = ip.gateway->ToString();
  if (ip.interface) object["interface"] = *ip.interface;
  return object;
}

Json EncodeRoute(const ResultRoute& route, Form form) {
  Json object = cni::EncodeRoute(route);
  if (form != Form::k110) return object;
  SetIf(object, "mtu", route.mtu);
  SetIf(object, "advmss", route.advmss);
  SetIf(object, "priority", route.priority);
  SetIf(object, "table", route.table);
  SetIf(object, "scope", route.scope);
  return object;
}

Json Encode(const Result& result, Form form) {
  Json object = Json::object();
  for (const ResultInterface& interface : result.interfaces)
    object["interfaces"].push_back(EncodeInterface(interface, form));
  for (const ResultIp& ip : result.ips) object["ips"].push_back(EncodeIp(ip, form));
  for (const ResultRoute& route : result.routes)
    object["routes"].push_back(EncodeRoute(route, form));
  return object;
}

ResultInterface DecodeInterface(const json& object, const std::string& path) {
  return {.name = StringOf(object, "name", path),
          .mac = StringOf(object, "mac", path),
          .mtu = NumberOf(object, "mtu", path).value_or(0),
          .sandbox = StringOf(object, "sandbox", path),
          .socket_path = StringOf(object, "socketPath", path),
          .pci_id = StringOf(object, "pciID", path)};
}

ResultIp DecodeIp(const json& object, const std::string& path) {
  ResultIp ip = {.address = NetworkOf(object, "address", path),
                 .gateway = AddressOf(object, "gateway", path)};
  // libcni's index is a signed int: a negative one is no error, and means no interface.
  const auto* index = MemberOf(object, "interface", path);
  if (index != nullptr && index->is_number_integer() && *index < 0) return ip;
  if (const auto number = NumberOf(object, "interface", path)) ip.interface = *number;
  return ip;
}

}  // namespace

Json EncodeWithIpVersion(const Result& result) { return Encode(result, Form::kWithIpVersion); }
Json EncodeLists(const Result& result) { return Encode(result, Form::k100); }
Json EncodeLists110(const Result& result) { return Encode(result, Form::k110); }

Result DecodeLists(const json& object, const std::string& path) {
  Result result;
  ForEachOf(object, "interfaces", path, [&](const auto& element, const std::string& element_path) {
    result.interfaces.push_back(DecodeInterface(element, element_path));
  });
  ForEachOf(object, "ips", path, [&](const auto& element, const std::string& element_path) {
    result.ips.push_back(DecodeIp(element, element_path));
    const auto& index = result.ips.back().interface;
    if (index && *index >= result.interfaces.size())
      throw ParseError(element_path + ".interface", "is " + std::to_string(*index) + " of " +
                                                        std::to_string(result.interfaces.size()) +
                                                        " interfaces");
  });
  ForEachOf(object, "routes", path, [&](const auto& element, const std::string& element_path) {
    result.routes.push_back(DecodeRoute(element, element_path));
  });
  return result;
}

}  // namespace kuryr::cni
