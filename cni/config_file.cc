#include "cni/config_file.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>

#include "base/error.h"
#include "cni/protocol/error.h"

namespace kuryr::cni {

void Refuse(const std::string& where, const std::string& why) {
  throw CniError(ErrorCode::kInvalidConfig, where + ": " + why);
}

ConfigFiles::ConfigFiles(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    INIReader reader(name);
    const int error = reader.ParseError();
    if (error < 0)
      Refuse("config file " + name, "cannot be read: " + std::string(std::strerror(errno)));
    if (error > 0) Refuse("config file " + name, "malformed line " + std::to_string(error));
    readers_.emplace_back(name, std::move(reader));
  }
}

Option ConfigFiles::Find(const char* section, const char* name) const {
  const std::string option = std::string("[") + section + "] " + name;
  for (auto file = readers_.rbegin(); file != readers_.rend(); ++file) {
    if (file->second.HasValue(section, name)) {
      return {file->first + ": " + option, file->second.Get(section, name, "")};
    }
  }
  return {option, std::nullopt};
}

void Take(const Option& option, std::string& target) {
  if (option.value) target = *option.value;
}

void Take(const Option& option, bool& target) {
  if (!option.value) return;
  std::string text = *option.value;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (text == "true" || text == "1" || text == "yes" || text == "on") {
    target = true;
  } else if (text == "false" || text == "0" || text == "no" || text == "off") {
    target = false;
  } else {
    Refuse(option.where,
           "\"" + Printable(*option.value) + "\" is no boolean; expected true or false");
  }
}

void Take(const Option& option, uint32_t& target, uint32_t least, uint32_t most) {
  if (!option.value) return;
  const std::string& text = *option.value;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    Refuse(option.where, "\"" + Printable(text) + "\" is no number from " + std::to_string(least) +
                             " to " + std::to_string(most));
  }
  target = number;
}

void Take(const Option& option, std::chrono::seconds& target, uint32_t most, uint32_t least) {
  auto seconds = static_cast<uint32_t>(target.count());
  Take(option, seconds, least, most);
  target = std::chrono::seconds(seconds);
}

void Take(const Option& option, std::vector<std::string>& target) {
  if (!option.value) return;
  target.clear();
  std::istringstream items(*option.value);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t begin = item.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    target.push_back(item.substr(begin, item.find_last_not_of(" \t") - begin + 1));
  }
}

void Take(const Option& option, std::filesystem::path& target) {
  if (!option.set()) return;
  target = *option.value;
  if (!target.is_absolute())
    Refuse(option.where, "\"" + Printable(*option.value) + "\" is no absolute path");
}

void TakeFile(const Option& option, std::string& target) {
  if (option.set() && ::access(option.value->c_str(), R_OK) != 0) {
    Refuse(option.where, "cannot read " + Printable(*option.value) + ": " + std::strerror(errno));
  }
  Take(option, target);
}

}  // namespace kuryr::cni
