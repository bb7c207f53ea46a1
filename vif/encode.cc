#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "vif/envelope.h"
#include "vif/schema.h"
#include "vif/vif.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;

/// One function per type of value, and above them the walk over a class's fields.
class Encoder {
 public:
  explicit Encoder(Changes changes) : changes_(changes) {}

  [[nodiscard]] json Value(const std::string& text) const { return text; }

  template <typename T>
    requires std::is_arithmetic_v<T>
  [[nodiscard]] json Value(T number) const {
    return number;
  }

  template <typename T>
    requires requires(const T& value) { value.ToString(); }
  [[nodiscard]] json Value(const T& value) const {
    return value.ToString();
  }

  template <typename T>
    requires std::is_enum_v<T>
  [[nodiscard]] json Value(T value) const {
    return kEnumTexts<T>.at(static_cast<size_t>(value));
  }

  template <typename T>
  [[nodiscard]] json Value(const std::vector<T>& values) const {
    json list = json::array();
    for (const T& value : values) list.push_back(Value(value));
    return list;
  }

  [[nodiscard]] json Value(const std::map<std::string, Vif>& vifs) const {
    json object = json::object();
    for (const auto& [ifname, vif] : vifs) object[ifname] = Value(vif);
    return object;
  }

  template <typename... Classes>
  [[nodiscard]] json Value(const std::variant<Classes...>& object) const {
    return std::visit([this](const auto& known) { return this->Value(known); }, object);
  }

  template <VersionedObject T>
  [[nodiscard]] json Value(const T& object) const {
    json::object_t data;
    std::string_view version = Schema<T>::kVersion;
    std::apply([&](const auto&... members) { (OneField(object, members, data, version), ...); },
               Schema<T>::kFields);
    return CloseEnvelope(Schema<T>::kName, version, std::move(data), object.envelope, changes_);
  }

 private:
  template <typename T, typename Class, typename Held>
  void OneField(const T& object, const Member<Class, Held>& member, json::object_t& data,
                std::string_view& version) const {
    const Field<Held>& field = object.*member.field;
    if (!field.is_set()) return;
    data.emplace(member.name, field.is_null() ? json(nullptr) : Value(*field));
    if (!member.rule.since.empty()) version = member.rule.since;
  }

  Changes changes_;
};

}  // namespace

json EncodeVif(const Vif& vif, Changes changes) { return Encoder(changes).Value(vif); }
json EncodePodState(const PodState& state, Changes changes) {
  return Encoder(changes).Value(state);
}
json EncodeNetwork(const Network& network, Changes changes) {
  return Encoder(changes).Value(network);
}
json EncodeInstanceInfo(const InstanceInfo& instance, Changes changes) {
  return Encoder(changes).Value(instance);
}

}  // namespace kuryr::vif
