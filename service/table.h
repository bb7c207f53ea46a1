#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace kuryr::service {

/// An age in kubectl's form: 12s, 5m, 3h, 2d.
[[nodiscard]] std::string Age(std::chrono::seconds age);

/// Aligns the rows in columns, with a line feed after each. All rows have as many cells as the
/// first. An empty cell becomes "-", and unprintable characters are escaped.
[[nodiscard]] std::string Table(std::vector<std::vector<std::string>> rows);

}  // namespace kuryr::service
