#include "cni/protocol/result_form.h"

#include <limits>

namespace kuryr::cni {

using nlohmann::json;

const json* MemberOf(const json& object, const char* name, const std::string& path) {
  if (!object.is_object())
    throw ParseError(path, std::string("is a JSON ") + object.type_name() + ", expected an object");
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string StringOf(const json& object, const char* name, const std::string& path) {
  const json* member = MemberOf(object, name, path);
  if (member == nullptr) return {};
  if (!member->is_string()) {
    throw ParseError(path + "." + name,
                     std::string("is a JSON ") + member->type_name() + ", expected a string");
  }
  return member->get<std::string>();
}

IpNetwork NetworkOf(const json& object, const char* name, const std::string& path) {
  const std::string text = StringOf(object, name, path);
  const auto network = IpNetwork::Parse(text);
  if (!network)
    throw ParseError(path + "." + name, "\"" + Printable(text) + "\" is no ADDRESS/LENGTH");
  return *network;
}

std::optional<IpAddress> AddressOf(const json& object, const char* name, const std::string& path) {
  const std::string text = StringOf(object, name, path);
  if (text.empty()) return std::nullopt;
  const auto address = IpAddress::Parse(text);
  if (!address) throw ParseError(path + "." + name, "\"" + Printable(text) + "\" is no IP address");
  return address;
}

std::optional<uint32_t> NumberOf(const json& object, const char* name, const std::string& path) {
  const json* member = MemberOf(object, name, path);
  if (member == nullptr) return std::nullopt;
  const bool fits = member->is_number_unsigned() &&
                    member->get<uint64_t>() <= std::numeric_limits<uint32_t>::max();
  if (!fits) throw ParseError(path + "." + name, "is no number from 0 to 4294967295");
  return member->get<uint32_t>();
}

ResultRoute DecodeRoute(const json& object, const std::string& path) {
  return {.destination = NetworkOf(object, "dst", path),
          .gateway = AddressOf(object, "gw", path),
          .mtu = NumberOf(object, "mtu", path),
          .advmss = NumberOf(object, "advmss", path),
          .priority = NumberOf(object, "priority", path),
          .table = NumberOf(object, "table", path),
          .scope = NumberOf(object, "scope", path)};
}

nlohmann::ordered_json EncodeRoute(const ResultRoute& route) {
  nlohmann::ordered_json object = {{"dst", route.destination.ToString()}};
  if (route.gateway) object["gw"] = route.gateway->ToString();
  return object;
}

}  // namespace kuryr::cni
