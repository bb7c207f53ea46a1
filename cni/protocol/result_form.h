#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "cni/protocol/result.h"

namespace kuryr::cni {

// The forms of a result in the versions of the specification. Each form has a file, which converts
// it to and from the newest form. `dns` is equal in all forms.

/// 0.1.0 and 0.2.0: {"ip4": {"ip", "gateway", "routes"}, "ip6": {...}}.
[[nodiscard]] nlohmann::ordered_json EncodeByFamily(const Result& result);
[[nodiscard]] Result DecodeByFamily(const nlohmann::json& object, const std::string& path);

/// 0.3.0 to 0.4.0: as 1.0.0, and each of `ips` has a `version`, "4" or "6".
[[nodiscard]] nlohmann::ordered_json EncodeWithIpVersion(const Result& result);

/// 1.0.0: {"interfaces", "ips", "routes"}. DecodeLists also reads the members that only 0.3.0 or
/// 1.1.0 have.
[[nodiscard]] nlohmann::ordered_json EncodeLists(const Result& result);
[[nodiscard]] Result DecodeLists(const nlohmann::json& object, const std::string& path);

/// 1.1.0: interfaces have mtu, socketPath and pciID, routes mtu, advmss, priority, table, scope.
[[nodiscard]] nlohmann::ordered_json EncodeLists110(const Result& result);

// Readers of members, shared by the forms. A null member counts as missing.

[[nodiscard]] const nlohmann::json* MemberOf(const nlohmann::json& object, const char* name,
                                             const std::string& path);
[[nodiscard]] std::string StringOf(const nlohmann::json& object, const char* name,
                                   const std::string& path);
[[nodiscard]] IpNetwork NetworkOf(const nlohmann::json& object, const char* name,
                                  const std::string& path);
[[nodiscard]] std::optional<IpAddress> AddressOf(const nlohmann::json& object, const char* name,
                                                 const std::string& path);
/// A number from 0 to 4294967295.
[[nodiscard]] std::optional<uint32_t> NumberOf(const nlohmann::json& object, const char* name,
                                               const std::string& path);
[[nodiscard]] ResultRoute DecodeRoute(const nlohmann::json& object, const std::string& path);
/// {"dst", "gw"}.
[[nodiscard]] nlohmann::ordered_json EncodeRoute(const ResultRoute& route);

/// Calls `each(element, path)` for the array member `name`, if it is there.
template <typename Each>
void ForEachOf(const nlohmann::json& object, const char* name, const std::string& path,
               const Each& each) {
  const nlohmann::json* array = MemberOf(object, name, path);
  if (array == nullptr) return;
  const std::string array_path = path + "." + name;
  if (!array->is_array())
    throw ParseError(array_path,
                     std::string("is a JSON ") + array->type_name() + ", expected an array");
  size_t index = 0;
  for (const nlohmann::json& element : *array)
    each(element, array_path + "[" + std::to_string(index++) + "]");
}

}  // namespace kuryr::cni
