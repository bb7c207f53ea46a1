#include "vif/envelope.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "vif/schema.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;

const json& MemberAt(const json::object_t& object, std::string_view key, const Path& path,
                     const char* expected) {
  const auto found = object.find(key);
  if (found == object.end())
    Path(path, key).Refuse("is missing, expected " + std::string(expected));
  return found->second;
}

std::string_view Text(const json::object_t& object, std::string_view key, const Path& path,
                      const char* expected) {
  const json& value = MemberAt(object, key, path, expected);
  if (!value.is_string()) Path(path, key).Refuse(value, expected);
  return value.get_ref<const std::string&>();
}

/// MAJOR.MINOR or MAJOR.MINOR.PATCH, all decimal, MAJOR 1.
bool IsVersionOne(std::string_view version) {
  if (version.substr(0, 2) != "1.") return false;
  const std::string_view rest = version.substr(2);
  const size_t dot = std::min(rest.find('.'), rest.size());
  const auto is_number = [](std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  return is_number(rest.substr(0, dot)) && (dot == rest.size() || is_number(rest.substr(dot + 1)));
}

std::vector<std::string> ReadChanges(const json& changes, const Path& path) {
  constexpr std::string_view kExpected = "a list of field names";
  if (!changes.is_array()) path.Refuse(changes, kExpected);
  std::vector<std::string> names;
  names.reserve(changes.size());
  for (const json& name : changes) {
    if (!name.is_string()) Path(path, names.size()).Refuse(name, "a field name");
    names.push_back(name.get_ref<const std::string&>());
  }
  return names;
}

bool IsEnvelopeKey(std::string_view key) {
  return key == EnvelopeKeys::kName || key == EnvelopeKeys::kNamespace ||
         key == EnvelopeKeys::kVersion || key == EnvelopeKeys::kData ||
         key == EnvelopeKeys::kChanges;
}

void RestoreUnknown(const std::vector<UnknownField>& unknown, json::object_t& object) {
  for (const UnknownField& field : unknown) object[field.name] = json::parse(field.json);
}

}  // namespace

OpenedObject OpenEnvelope(const json& primitive, const Path& path) {
  if (!primitive.is_object()) path.Refuse(primitive, "a versioned object");
  const auto& object = primitive.get_ref<const json::object_t&>();
  const std::string_view name = Text(object, EnvelopeKeys::kName, path, "a class name");
  if (Text(object, EnvelopeKeys::kNamespace, path, "\"os_vif\"") != kNamespace) {
    Path(path, EnvelopeKeys::kNamespace)
        .Refuse(object.find(EnvelopeKeys::kNamespace)->second, "\"os_vif\"");
  }
  const json& data = MemberAt(object, EnvelopeKeys::kData, path, "an object");
  if (!data.is_object()) Path(path, EnvelopeKeys::kData).Refuse(data, "an object");
  return {.name = name, .data = &data.get_ref<const json::object_t&>(), .primitive = &primitive};
}

void ReadEnvelope(const OpenedObject& opened, const Path& path, Envelope& envelope) {
  constexpr const char* kExpected = "a version 1.x";
  const auto& object = opened.primitive->get_ref<const json::object_t&>();
  envelope.version = Text(object, EnvelopeKeys::kVersion, path, kExpected);
  if (!IsVersionOne(envelope.version))
    Path(path, EnvelopeKeys::kVersion).Refuse(json(envelope.version), kExpected);
  size_t known = 4;
  if (object.size() == known) return;
  if (const auto changes = object.find(EnvelopeKeys::kChanges); changes != object.end()) {
    envelope.changes = ReadChanges(changes->second, Path(path, EnvelopeKeys::kChanges));
    ++known;
  }
  if (object.size() == known) return;
  for (const auto& [key, value] : object) {
    if (!IsEnvelopeKey(key)) KeepUnknown(key, value, envelope.unknown_members);
  }
}

void KeepUnknown(const std::string& name, const json& value, std::vector<UnknownField>& unknown) {
  unknown.push_back({.name = name, .json = value.dump()});
}

json CloseEnvelope(std::string_view class_name, std::string_view version, json::object_t data,
                   const Envelope& envelope, Changes changes) {
  RestoreUnknown(envelope.unknown_fields, data);
  json::object_t object;
  RestoreUnknown(envelope.unknown_members, object);
  object[std::string(EnvelopeKeys::kName)] = class_name;
  object[std::string(EnvelopeKeys::kNamespace)] = kNamespace;
  object[std::string(EnvelopeKeys::kVersion)] =
      envelope.version.empty() ? version : std::string_view(envelope.version);
  object[std::string(EnvelopeKeys::kData)] = std::move(data);
  if (envelope.changes && changes == Changes::kKeep)
    object[std::string(EnvelopeKeys::kChanges)] = *envelope.changes;
  return object;
}

}  // namespace kuryr::vif
