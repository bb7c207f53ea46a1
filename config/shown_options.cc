#include "config/shown_options.h"

#include <algorithm>
#include <string_view>

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

}  // namespace

std::string WithoutUsers(std::string text) {
  constexpr std::string_view kScheme = "://";
  for (size_t at = text.find(kScheme); at != std::string::npos; at = text.find(kScheme, at)) {
    at += kScheme.size();
    const size_t end = std::min(text.find_first_of(" \t\r\n\"'", at), text.size());
    const size_t user_end = end == 0 ? std::string::npos : text.rfind('@', end - 1);
    if (user_end != std::string::npos && user_end >= at) text.replace(at, user_end - at, kNotShown);
  }
  return text;
}

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
