#pragma once

#include <string>
#include <vector>

namespace kuryr {

/// Those of an OVSDB connection (ovsdb(7), with commas between servers) that are tcp: and lead
/// beyond this host. Whoever reaches such a server may write its database.
[[nodiscard]] std::vector<std::string> FindUnprotected(const std::string& connection);

}  // namespace kuryr
