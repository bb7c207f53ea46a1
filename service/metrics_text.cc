#include "service/metrics_text.h"

#include <array>
#include <charconv>

namespace kuryr::service {
namespace {

std::string Escaped(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

void MetricsText::Head(std::string_view name, std::string_view type, std::string_view help) {
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void MetricsText::Sample(std::string_view name, const Labels& labels, double value) {
  text_.append(name);
  char before = '{';
  for (const auto& [label, text] : labels) {
    (text_ += before).append(label).append("=\"").append(Escaped(text)).append("\"");
    before = ',';
  }
  if (before == ',') text_ += '}';
  text_.append(" ").append(Number(value)).append("\n");
}

std::string MetricsText::Number(double value) {
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::fixed).ptr;
  return {digits.begin(), end};
}

}  // namespace kuryr::service
