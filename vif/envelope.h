#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "vif/path.h"
#include "vif/vif.h"

// The members around a versioned object's fields; every class has them.

namespace kuryr::vif {

struct EnvelopeKeys {
  static constexpr std::string_view kName = "versioned_object.name";
  static constexpr std::string_view kNamespace = "versioned_object.namespace";
  static constexpr std::string_view kVersion = "versioned_object.version";
  static constexpr std::string_view kData = "versioned_object.data";
  static constexpr std::string_view kChanges = "versioned_object.changes";
};

/// An opened envelope; borrows from the JSON it was read from.
struct OpenedObject {
  std::string_view name;
  const nlohmann::json::object_t* data = nullptr;
  const nlohmann::json* primitive = nullptr;
};

/// Reads and checks name, namespace and data, and requires a version. The caller fills the fields,
/// by the class's name.
[[nodiscard]] OpenedObject OpenEnvelope(const nlohmann::json& primitive, const Path& path);

/// Reads version, changes and unknown members. Throws for another major version than 1.
void ReadEnvelope(const OpenedObject& object, const Path& path, Envelope& envelope);

void KeepUnknown(const std::string& name, const nlohmann::json& value,
                 std::vector<UnknownField>& unknown);

/// Returns the primitive of one object.
[[nodiscard]] nlohmann::json CloseEnvelope(std::string_view class_name, std::string_view version,
                                           nlohmann::json::object_t data, const Envelope& envelope,
                                           Changes changes);

}  // namespace kuryr::vif
