#include "vif/decode.h"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "vif/envelope.h"
#include "vif/path.h"
#include "vif/schema.h"
#include "vif/vif.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;

template <typename T>
concept ParsedFromText = requires(std::string_view text) { T::Parse(text); };

template <typename T>
inline constexpr std::string_view kSyntax{};
template <>
inline constexpr std::string_view kSyntax<IpAddress> = "an IP address";
template <>
inline constexpr std::string_view kSyntax<IpNetwork> = "a CIDR (ADDRESS/LENGTH)";
template <>
inline constexpr std::string_view kSyntax<MacAddress> = "a MAC address";
template <>
inline constexpr std::string_view kSyntax<PciAddress> = "a PCI address (0000:03:10.1)";

std::string_view Or(std::string_view text, std::string_view other) {
  return text.empty() ? other : text;
}

/// One function per type of value, and above them the walk over a class's fields.
struct Decoder {
  static void Value(const json& value, const Path& path, const Rule& rule, std::string& out) {
    if (!value.is_string()) path.Refuse(value, Or(rule.expected, "a string"));
    const auto& text = value.get_ref<const std::string&>();
    if (rule.text != nullptr && !rule.text(text)) path.Refuse(value, rule.expected);
    out = text;
  }

  static void Value(const json& value, const Path& path, const Rule& /*rule*/, bool& out) {
    if (!value.is_boolean()) path.Refuse(value, "true or false");
    out = value.get<bool>();
  }

  template <std::integral T>
  static void Value(const json& value, const Path& path, const Rule& rule, T& out) {
    const std::string_view expected = Or(rule.expected, "an integer");
    const bool fits =
        value.is_number_unsigned() ? value.get<uint64_t>() <= INT64_MAX : value.is_number_integer();
    if (!fits) path.Refuse(value, expected);
    const auto number = value.get<int64_t>();
    const bool accepted = rule.number != nullptr ? rule.number(number) : std::in_range<T>(number);
    if (!accepted) path.Refuse(value, expected);
    out = static_cast<T>(number);
  }

  template <ParsedFromText T>
  static void Value(const json& value, const Path& path, const Rule& /*rule*/, T& out) {
    if (!value.is_string()) path.Refuse(value, kSyntax<T>);
    const auto parsed = T::Parse(value.get_ref<const std::string&>());
    if (!parsed) path.Refuse(value, kSyntax<T>);
    out = *parsed;
  }

  template <typename T>
    requires std::is_enum_v<T>
  static void Value(const json& value, const Path& path, const Rule& /*rule*/, T& out) {
    const auto& texts = kEnumTexts<T>;
    const auto found = value.is_string() ? std::find(texts.begin(), texts.end(),
                                                     value.get_ref<const std::string&>())
                                         : texts.end();
    if (found == texts.end()) {
      std::string expected;
      for (const std::string_view text : texts)
        expected.append(expected.empty() ? "one of " : ", ").append(text);
      path.Refuse(value, expected);
    }
    out = static_cast<T>(found - texts.begin());
  }

  template <typename T>
  static void Value(const json& value, const Path& path, const Rule& rule, std::vector<T>& out) {
    if (!value.is_array()) path.Refuse(value, "a list");
    out.reserve(value.size());
    for (const json& element : value.get_ref<const json::array_t&>()) {
      const Path here(path, out.size());
      Value(element, here, rule, out.emplace_back());
    }
  }

  static void Value(const json& value, const Path& path, const Rule& rule,
                    std::map<std::string, Vif>& out) {
    if (!value.is_object()) path.Refuse(value, "an object of VIFs by interface name");
    for (const auto& [ifname, vif] : value.get_ref<const json::object_t&>()) {
      const Path here(path, ifname);
      if (!IsLinkName(ifname)) {
        path.Refuse(json(ifname), std::string(kInterfaceName.expected) + " as every key");
      }
      Value(vif, here, rule, out[ifname]);
    }
  }

  template <typename... Classes>
  static void Value(const json& value, const Path& path, const Rule& /*rule*/,
                    std::variant<Classes...>& out) {
    const OpenedObject object = OpenEnvelope(value, path);
    const bool found = ((object.name == Schema<Classes>::kName &&
                         (Fields(object, path, out.template emplace<Classes>()), true)) ||
                        ...);
    if (found) return;
    std::string expected;
    ((expected.append(expected.empty() ? "" : ", ").append(Schema<Classes>::kName)), ...);
    Path(path, EnvelopeKeys::kName).Refuse(json(object.name), "one of " + expected);
  }

  template <VersionedObject T>
  static void Value(const json& value, const Path& path, const Rule& /*rule*/, T& out) {
    const OpenedObject object = OpenEnvelope(value, path);
    if (object.name != Schema<T>::kName)
      Path(path, EnvelopeKeys::kName).Refuse(json(object.name), Schema<T>::kName);
    Fields(object, path, out);
  }

  template <typename T>
  static void Fields(const OpenedObject& object, const Path& path, T& out) {
    ReadEnvelope(object, path, out.envelope);
    size_t known = 0;
    std::apply(
        [&](const auto&... members) {
          ((known += OneField(*object.data, path, members, out) ? 1U : 0U), ...);
        },
        Schema<T>::kFields);
    if (known == object.data->size()) return;
    for (const auto& [name, value] : *object.data) {
      if (!HasField<T>(name)) KeepUnknown(name, value, out.envelope.unknown_fields);
    }
  }

  template <typename T, typename Class, typename Held>
  static bool OneField(const json::object_t& data, const Path& path,
                       const Member<Class, Held>& member, T& out) {
    Field<Held>& field = out.*member.field;
    const auto found = data.find(member.name);
    if (found == data.end()) {
      field.reset();
      return false;
    }
    // A list object's elements are the list: subnets[0], not subnets.objects[0].
    const Path step(path, member.name);
    const Path& here = kIsList<T> ? path : step;
    if (found->second.is_null() && member.rule.nullable) {
      field = Null{};
      return true;
    }
    Value(found->second, here, member.rule, field.emplace());
    return true;
  }

  template <typename T>
  static bool HasField(std::string_view name) {
    return std::apply([&](const auto&... members) { return ((members.name == name) || ...); },
                      Schema<T>::kFields);
  }
};

template <typename T>
T DecodeAt(const json& primitive, const std::string& path) {
  T value;
  Decoder::Value(primitive, Path(path), kAny, value);
  return value;
}

}  // namespace

void DecodeInto(const json& primitive, const Path& path, Vif& vif) {
  Decoder::Value(primitive, path, kAny, vif);
}
void DecodeInto(const json& primitive, const Path& path, PodState& state) {
  Decoder::Value(primitive, path, kAny, state);
}

Vif DecodeVif(const json& primitive, const std::string& path) {
  return DecodeAt<Vif>(primitive, path);
}
PodState DecodePodState(const json& primitive, const std::string& path) {
  return DecodeAt<PodState>(primitive, path);
}
Network DecodeNetwork(const json& primitive, const std::string& path) {
  return DecodeAt<Network>(primitive, path);
}
InstanceInfo DecodeInstanceInfo(const json& primitive, const std::string& path) {
  return DecodeAt<InstanceInfo>(primitive, path);
}

}  // namespace kuryr::vif
