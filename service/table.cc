#include "service/table.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace kuryr::service {

std::string Age(std::chrono::seconds age) {
  using namespace std::chrono_literals;
  constexpr auto kDay = 24h;
  if (age < 2min) return std::to_string(std::max(age, 0s).count()) + "s";
  if (age < 2h) return std::to_string(age / 1min) + "m";
  if (age < 2 * kDay) return std::to_string(age / 1h) + "h";
  return std::to_string(age / kDay) + "d";
}

std::string Table(std::vector<std::vector<std::string>> rows) {
  constexpr size_t kMostText = 1000;
  std::vector<size_t> widths;
  for (auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = row[i].empty() ? "-" : Printable(row[i], kMostText);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] + 2 - row[i].size(), ' ');
    }
    text += '\n';
  }
  return text;
}

void PrintJson(const nlohmann::json& answer) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  std::printf("%s\n", answer.dump(2, ' ', false, kReplace).c_str());
}

}  // namespace kuryr::service
