#include "config/ini_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "config/config_file.h"

namespace kuryr {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string LowerCaseOf(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return lower;
}

std::string_view WithoutQuotes(std::string_view value) {
  const bool is_quoted = !value.empty() && (value.front() == '"' || value.front() == '\'') &&
                         value.front() == value.back();
  return is_quoted ? value.substr(1, std::max<size_t>(value.size(), 2) - 2) : value;
}

/// Reads a file line by line.
class IniReader {
 public:
  explicit IniReader(std::string where) : where_("config file " + std::move(where)) {}

  void Take(std::string_view line) {
    ++number_;
    const std::string_view text = Trimmed(line);
    if (text.empty()) {
      value_ = nullptr;
    } else if (text.front() == '#' || text.front() == ';') {
      return;
    } else if (value_ != nullptr && kBlanks.find(line.front()) != std::string_view::npos) {
      value_->append("\n").append(text);
    } else if (text.front() == '[') {
      BeginSection(text);
    } else {
      Assign(text);
    }
  }
  [[nodiscard]] IniSections sections() && { return std::move(sections_); }

 private:
  [[noreturn]] void RefuseLine(const std::string& why) const {
    Refuse(where_, "malformed line " + std::to_string(number_) + ": " + why);
  }

  void BeginSection(std::string_view text) {
    const size_t end = text.find(']');
    const std::string_view rest = Trimmed(text.substr(std::min(end, text.size() - 1) + 1));
    const bool goes_on = !rest.empty() && rest.front() != '#' && rest.front() != ';';
    if (end == std::string_view::npos || goes_on) RefuseLine("a section has to end with ]");
    if (end == 1) RefuseLine("the section has no name");
    section_ = &sections_[LowerCaseOf(text.substr(1, end - 1))];
    value_ = nullptr;
  }

  void Assign(std::string_view text) {
    const size_t mark = text.find_first_of(":=");
    if (mark == std::string_view::npos) RefuseLine("expected NAME = VALUE");
    const std::string_view name = Trimmed(text.substr(0, mark));
    if (name.empty()) RefuseLine("the option has no name");
    if (section_ == nullptr) RefuseLine("an option stands before the first [section]");
    value_ = &(*section_)[LowerCaseOf(name)];
    *value_ = WithoutQuotes(Trimmed(text.substr(mark + 1)));
  }

  const std::string where_;
  size_t number_ = 0;
  IniSections sections_;
  std::map<std::string, std::string>* section_ = nullptr;
  std::string* value_ = nullptr;  ///< that a line may go on with
};

/// The text of a file of any kind. Its memory grows with what is read: a call of the plugin reads
/// half a kilobyte here, and would pay for each page of a buffer of the largest size.
std::string ReadText(const std::string& name, const std::string& where) {
  constexpr size_t kLargestIniFile = size_t{4} << 20;
  std::ifstream file(name, std::ios::binary);
  if (!file) Refuse(where, "cannot be read: " + std::string(std::strerror(errno)));
  std::string text;
  std::array<char, 4096> piece;
  while (file.read(piece.data(), piece.size()), file.gcount() > 0) {
    text.append(piece.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > kLargestIniFile) Refuse(where, "is larger than 4 MiB");
  }
  if (file.bad()) Refuse(where, "cannot be read: " + std::string(std::strerror(errno)));
  return text;
}

}  // namespace

IniSections ParseIni(const std::string& name, const std::string& text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  IniReader reader(name);
  std::istringstream lines(text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size())
                                                            : text);
  for (std::string line; std::getline(lines, line);) reader.Take(line);
  return std::move(reader).sections();
}

IniSections ReadIniFile(const std::string& name) {
  return ParseIni(name, ReadText(name, "config file " + name));
}

}  // namespace kuryr
