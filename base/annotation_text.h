#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mac.h"

namespace kuryr {

// The forms that values have in pods' annotations.

/// `text` without the blanks and line ends around it, which YAML block texts have.
[[nodiscard]] std::string Trimmed(std::string_view text);
/// The items between commas, trimmed. A blank text has none; "a,,b" has an empty item.
[[nodiscard]] std::vector<std::string> ListItems(std::string_view text);
/// The MAC address of an interface; nullopt for other texts, group addresses and the zero address.
[[nodiscard]] std::optional<MacAddress> ParseInterfaceMac(std::string_view text);

}  // namespace kuryr
