#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mac.h"

namespace kuryr::controller {

// The forms that values have in pods' annotations.

/// Without blanks and line ends around it, which YAML's block texts have.
[[nodiscard]] std::string Trimmed(std::string_view text);
/// What stands between commas, trimmed. Nothing for a blank text; "a,,b" has an empty item.
[[nodiscard]] std::vector<std::string> ListItems(std::string_view text);
/// The MAC address of one interface; nullopt for any other text, and for addresses of groups and
/// the one that is all zero.
[[nodiscard]] std::optional<MacAddress> ParseInterfaceMac(std::string_view text);

}  // namespace kuryr::controller
