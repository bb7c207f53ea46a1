#pragma once

#include <map>
#include <string>

namespace kuryr {

/// Sections, and the options of each, by their names in lower case.
using IniSections = std::map<std::string, std::map<std::string, std::string>>;

/// A file as oslo.config's iniparser reads it: "name = value" or "name: value", one pair of quotes
/// around the value goes, lines that begin with a blank go on with a value, and of an option that
/// stands there twice the last counts. Beyond it, a comment may be indented, and so may the first
/// option of a section. Throws ConfigError that names the file and the line.
[[nodiscard]] IniSections ReadIniFile(const std::string& name);
[[nodiscard]] IniSections ParseIni(const std::string& name, const std::string& text);

}  // namespace kuryr
