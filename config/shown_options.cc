#include "config/shown_options.h"

#include <algorithm>
#include <regex>

#include "base/error.h"
#include "config/unknown_options.h"

namespace kuryr {
namespace {

constexpr const char* kNotShown = "(not shown)";
constexpr size_t kMostShown = 1000;

bool IsSecret(const std::string& option) {
  if (option.ends_with("_file")) return false;
  return option.find("password") != std::string::npos ||
         option.find("secret") != std::string::npos || option.find("token") != std::string::npos;
}

/// A value that an error may repeat, too: an URL in front of whose host stands a user.
std::string WithoutUsers(const std::string& value) {
  static const std::regex users("//[^/]*@");
  return std::regex_replace(value, users, std::string("//") + kNotShown + "@");
}

}  // namespace

std::vector<std::string> ShownOptions(const ConfigFiles& files) {
  std::vector<std::string> shown;
  for (const std::string& section : files.SectionsOf("")) {
    for (const std::string& name : files.OptionsOf(section)) {
      const Option option = files.FindRaw(section, name);
      const bool hidden = IsSecret(name) || !IsKnownOption(section, name);
      const std::string value = hidden ? kNotShown : WithoutUsers(option.value.value_or(""));
      shown.push_back(option.where + " = " + Printable(value, kMostShown));
    }
  }
  return shown;
}

}  // namespace kuryr
