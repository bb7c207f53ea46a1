#pragma once

#include <optional>
#include <string>

#include "binding/difference.h"

namespace kuryr::binding {

/// The text of the first difference; nullopt when there is none.
inline std::optional<std::string> FirstOf(const Differences& differences) {
  if (differences.empty()) return std::nullopt;
  return differences.front().text;
}

}  // namespace kuryr::binding
