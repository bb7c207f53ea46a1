#pragma once

#include <map>
#include <string>

namespace kuryr {

/// Sections, and the options of each, by their names in lower case.
using IniSections = std::map<std::string, std::map<std::string, std::string>>;

/// Reads a file as oslo.config's iniparser does: "name = value" or "name: value". It drops one pair
/// of quotes around a value. A line that begins with a blank continues a value. If an option stands
/// there twice, the last counts. Unlike iniparser, it allows an indented comment and an indented
/// first option of a section. Throws ConfigError that names the file and the line.
[[nodiscard]] IniSections ReadIniFile(const std::string& name);
[[nodiscard]] IniSections ParseIni(const std::string& name, const std::string& text);

}  // namespace kuryr
