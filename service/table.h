#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kuryr::service {

/// An age in kubectl's form: 12s, 5m, 3h, 2d.
[[nodiscard]] std::string Age(std::chrono::seconds age);

/// Aligns the rows in columns, with a line feed after each. All rows have as many cells as the
/// first. An empty cell becomes "-", and unprintable characters are escaped.
[[nodiscard]] std::string Table(std::vector<std::vector<std::string>> rows);

/// Prints an answer for programs on stdout. Bytes that are no UTF-8 are replaced.
void PrintJson(const nlohmann::json& answer);

}  // namespace kuryr::service
