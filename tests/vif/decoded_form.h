#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "vif/schema.h"
#include "vif/vif.h"

// The form in which tests/data/vif-samples/expected has what Python decoded. It has every field by
// its name, "<unset>" for unset ones, _class and _version. Fields that os-vif 3.0 lacks are there
// only when they are set.

namespace kuryr::vif {

struct DecodedForm {
  static nlohmann::json Of(const std::string& text) { return text; }
  template <typename T>
    requires std::is_arithmetic_v<T>
  static nlohmann::json Of(T number) {
    return number;
  }
  template <typename T>
    requires requires(const T& value) { value.ToString(); }
  static nlohmann::json Of(const T& value) {
    return value.ToString();
  }
  template <typename T>
    requires std::is_enum_v<T>
  static nlohmann::json Of(T value) {
    return kEnumTexts<T>.at(static_cast<size_t>(value));
  }
  template <typename T>
  static nlohmann::json Of(const std::vector<T>& values) {
    auto list = nlohmann::json::array();
    for (const T& value : values) list.push_back(Of(value));
    return list;
  }
  static nlohmann::json Of(const std::map<std::string, Vif>& vifs) {
    auto map = nlohmann::json::object();
    for (const auto& [ifname, vif] : vifs) map[ifname] = Of(vif);
    return map;
  }
  template <typename... Classes>
  static nlohmann::json Of(const std::variant<Classes...>& object) {
    return std::visit([](const auto& known) { return Of(known); }, object);
  }
  template <VersionedObject T>
  static nlohmann::json Of(const T& object) {
    nlohmann::json form;
    form["_class"] = Schema<T>::kName;
    form["_version"] = Schema<T>::kVersion;
    if (!object.envelope.version.empty()) form["_version"] = object.envelope.version;
    std::apply([&](const auto&... members) { (OneField(object, members, form), ...); },
               Schema<T>::kFields);
    return form;
  }

 private:
  template <typename T, typename Class, typename Value>
  static void OneField(const T& object, const Member<Class, Value>& member, nlohmann::json& form) {
    const Field<Value>& field = object.*member.field;
    const std::string name(member.name);
    if (field.is_null()) {
      form[name] = nullptr;
    } else if (field.has_value()) {
      form[name] = Of(*field);
    } else if (member.rule.since.empty() && name != "fixed_ips") {
      form[name] = "<unset>";
    }
  }
};

}  // namespace kuryr::vif
