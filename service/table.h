#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace kuryr::service {

/// As kubectl has it: 12s, 5m, 3h, 2d.
[[nodiscard]] std::string Age(std::chrono::seconds age);

/// The rows in columns, a line feed after each; all have as many cells as the first. An empty cell
/// is "-", and what is not printable is escaped.
[[nodiscard]] std::string Table(std::vector<std::vector<std::string>> rows);

}  // namespace kuryr::service
