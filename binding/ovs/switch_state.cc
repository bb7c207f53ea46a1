#include "binding/ovs/switch_state.h"

#include <nlohmann/json.hpp>

#include "ovsdb/operation.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;

template <typename T>
void Read(const json& row, const char* column, T& value) {
  const auto found = row.find(column);
  if (found != row.end()) value = ovsdb::ParseOptional<T>(*found);
}

/// The columns that a <row-update2> names; null when the row is gone.
const json& Columns(const json& update) {
  static const json kGone;
  for (const char* kind : {"initial", "insert", "modify"}) {
    const auto found = update.find(kind);
    if (found != update.end()) return *found;
  }
  return kGone;
}

}  // namespace

json SwitchState::Requests(const std::vector<std::string>& interfaces) {
  json requests = {{"Open_vSwitch", json::array({{{"columns", json::array({"cur_cfg"})}}})}};
  if (interfaces.empty()) return requests;
  // A row is monitored when any of the conditions holds.
  json where = json::array();
  for (const std::string& name : interfaces) where.push_back(json::array({"name", "==", name}));
  requests["Interface"] =
      json::array({{{"columns", json::array({"name", "ofport", "error"})}, {"where", where}}});
  return requests;
}

void SwitchState::Apply(const json& updates) {
  for (const auto& [table, rows] : updates.items()) {
    for (const auto& [uuid, update] : rows.items()) {
      const json& columns = Columns(update);
      if (table == "Open_vSwitch") {
        Read(columns, "cur_cfg", applied_);
      } else if (columns.is_null()) {
        interfaces_.erase(uuid);
      } else {
        Interface& interface = interfaces_[uuid];
        Read(columns, "name", interface.name);
        Read(columns, "ofport", interface.ofport);
        Read(columns, "error", interface.error);
      }
    }
  }
}

uint32_t SwitchState::NumberOf(const std::string& interface) const {
  const Interface* found = Find(interface);
  return found != nullptr && found->ofport >= 1 ? static_cast<uint32_t>(found->ofport) : 0;
}

std::string SwitchState::ErrorOf(const std::string& interface) const {
  const Interface* found = Find(interface);
  return found != nullptr ? found->error : "";
}

const SwitchState::Interface* SwitchState::Find(const std::string& name) const {
  for (const auto& [uuid, interface] : interfaces_) {
    if (interface.name == name) return &interface;
  }
  return nullptr;
}

}  // namespace kuryr::binding
