#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {

/// Throws CniError 7: a field of the network configuration has a value that it must not have.
[[noreturn]] inline void RefuseField(const std::string& field, const std::string& why) {
  throw CniError(ErrorCode::kInvalidConfig, field + " " + why);
}

/// The member `name` of `object`, or `fallback` where it is missing or null. Throws CniError 7 that
/// names `where` + `name`.
template <typename T>
T Take(const nlohmann::json& object, const std::string& where, const char* name,
       const char* expected, T fallback = {}) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return fallback;
  bool right_type = found->is_string();
  if constexpr (std::is_same_v<T, bool>) right_type = found->is_boolean();
  if (!right_type)
    RefuseField(where + name,
                std::string("is a JSON ") + found->type_name() + ", expected " + expected);
  return found->get<T>();
}

/// As Take, for a number in [least, most]; 0 where it is missing or null.
uint32_t TakeNumber(const nlohmann::json& object, const std::string& where, const char* name,
                    uint32_t least, uint32_t most);

/// As Take, for an object; nullptr where it is missing or null.
const nlohmann::json* TakeObject(const nlohmann::json& object, const std::string& where,
                                 const char* name);

}  // namespace kuryr::cni
