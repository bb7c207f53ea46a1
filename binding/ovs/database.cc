#include "binding/ovs/database.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace kuryr::binding {
namespace {

using nlohmann::json;

using IsAtom = bool (*)(const json&);

bool IsText(const json& value) { return value.is_string(); }

bool IsNumber(const json& value) { return value.is_number_integer(); }

bool IsFlag(const json& value) { return value.is_boolean(); }

/// A 2-element array whose first element says what the second one is.
bool IsTagged(const json& value, const char* tag) {
  return value.is_array() && value.size() == 2 && value.at(0) == tag;
}

bool IsUuid(const json& value) { return IsTagged(value, "uuid") && IsText(value.at(1)); }

bool IsTextPair(const json& pair) {
  return pair.is_array() && pair.size() == 2 && IsText(pair.at(0)) && IsText(pair.at(1));
}

bool AreAll(const json& values, IsAtom is) {
  return values.is_array() && std::all_of(values.begin(), values.end(), is);
}

bool IsMap(const json& value) { return IsTagged(value, "map") && AreAll(value.at(1), IsTextPair); }

/// A map from numbers to rows.
bool IsQueueMap(const json& value) {
  return IsTagged(value, "map") && AreAll(value.at(1), [](const json& pair) {
           return pair.is_array() && pair.size() == 2 && IsNumber(pair.at(0)) && IsUuid(pair.at(1));
         });
}

/// A set of one is its element.
template <IsAtom kIs>
bool IsSet(const json& value) {
  return kIs(value) || (IsTagged(value, "set") && AreAll(value.at(1), kIs));
}

template <IsAtom kIs>
bool IsOptional(const json& value) {
  return kIs(value) || (IsTagged(value, "set") && value.at(1) == json::array());
}

/// A name has one type in all tables that we read.
const std::map<std::string_view, IsAtom> kTypes = {{"_uuid", IsUuid},
                                                   {"cur_cfg", IsNumber},
                                                   {"datapath_id", IsOptional<IsText>},
                                                   {"datapath_type", IsText},
                                                   {"datapath_types", IsSet<IsText>},
                                                   {"error", IsOptional<IsText>},
                                                   {"external_ids", IsMap},
                                                   {"fail_mode", IsOptional<IsText>},
                                                   {"ingress_policing_burst", IsNumber},
                                                   {"ingress_policing_rate", IsNumber},
                                                   {"mac", IsOptional<IsText>},
                                                   {"mtu_request", IsOptional<IsNumber>},
                                                   {"name", IsText},
                                                   {"next_cfg", IsNumber},
                                                   {"ofport", IsOptional<IsNumber>},
                                                   {"options", IsMap},
                                                   {"other_config", IsMap},
                                                   {"output_port", IsOptional<IsUuid>},
                                                   {"qos", IsOptional<IsUuid>},
                                                   {"queues", IsQueueMap},
                                                   {"select_all", IsFlag},
                                                   {"select_dst_port", IsSet<IsUuid>},
                                                   {"select_src_port", IsSet<IsUuid>},
                                                   {"tag", IsOptional<IsNumber>},
                                                   {"trunks", IsSet<IsNumber>},
                                                   {"type", IsText},
                                                   {"vlan_mode", IsOptional<IsText>}};

bool IsValueOf(const std::string& column, const json& value) {
  const auto found = kTypes.find(column);
  return found == kTypes.end() || found->second(value);
}

}  // namespace

const OvsdbDatabase kOpenVSwitchDatabase = {.name = "Open_vSwitch", .is_value_of = IsValueOf};

}  // namespace kuryr::binding
