#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kuryr::binding::ovsdb {

/// Whether `value` has the type that `column` has in the database Open_vSwitch
/// (ovs-vswitchd.conf.db(5), RFC 7047 section 5.1). Of a column that nobody here reads, every value
/// has.
[[nodiscard]] bool IsValueOf(const std::string& column, const nlohmann::json& value);

}  // namespace kuryr::binding::ovsdb
