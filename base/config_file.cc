#include "base/config_file.h"

#include <ini.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>

#include "base/error.h"
#include "base/log.h"

namespace kuryr {
namespace {

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Whoever may write it has what kuryr has, but it may be what an operator wants.
void WarnOfOtherWriters(const std::string& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return;
  const bool is_others = status.st_uid != 0 && status.st_uid != ::geteuid();
  if (is_others || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    Log(LogLevel::kWarning, "configuration file can be written by others",
        {{"file", file}, {"owner", status.st_uid}});
  }
}

}  // namespace

void Refuse(const std::string& where, const std::string& why) {
  throw ConfigError(where + ": " + why);
}

Option Variable(const GetEnv& getenv, const char* name) {
  const char* value = getenv(name);
  return {name, value == nullptr ? std::nullopt : std::optional<std::string>(value)};
}

ConfigFiles::ConfigFiles(std::vector<std::string> names) {
  if (names.empty() && ::access(kDefaultConfigFile, F_OK) == 0)
    names.emplace_back(kDefaultConfigFile);
  for (const std::string& name : names) files_.push_back(Read(name));
}

ConfigFiles::File ConfigFiles::Read(const std::string& name) {
  File file{.name = name};
  const auto take = [](void* into, const char* section, const char* option, const char* value) {
    std::string& target = static_cast<File*>(into)->sections[LowerCase(section)][LowerCase(option)];
    // A line that goes on is told once more, with what it adds.
    if (!target.empty()) target += '\n';
    target += value;
    return 1;
  };
  const int error = ::ini_parse(name.c_str(), take, &file);
  if (error < 0)
    Refuse("config file " + name, "cannot be read: " + std::string(std::strerror(errno)));
  if (error > 0) Refuse("config file " + name, "malformed line " + std::to_string(error));
  WarnOfOtherWriters(name);
  return file;
}

Option ConfigFiles::Find(const std::string& section, const std::string& name) const {
  const std::string where = "[" + section + "] " + name;
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    const auto options = file->sections.find(LowerCase(section));
    if (options == file->sections.end()) continue;
    const auto option = options->second.find(LowerCase(name));
    if (option != options->second.end()) return {file->name + ": " + where, option->second};
  }
  return {where, std::nullopt};
}

std::set<std::string> ConfigFiles::SectionsOf(const std::string& prefix) const {
  std::set<std::string> names;
  for (const File& file : files_) {
    for (const auto& [name, options] : file.sections) {
      if (name.starts_with(prefix)) names.insert(name);
    }
  }
  return names;
}

std::set<std::string> ConfigFiles::OptionsOf(const std::string& section) const {
  std::set<std::string> names;
  for (const File& file : files_) {
    const auto options = file.sections.find(section);
    if (options == file.sections.end()) continue;
    for (const auto& [name, value] : options->second) names.insert(name);
  }
  return names;
}

void Take(const Option& option, std::string& target) {
  if (option.value) target = *option.value;
}

void Take(const Option& option, bool& target) {
  if (!option.value) return;
  const std::string text = LowerCase(*option.value);
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

void TakePairs(const Option& option, const std::string& expected,
               std::map<std::string, std::string>& target,
               const std::function<bool(const std::string&, const std::string&)>& fits) {
  std::vector<std::string> pairs;
  Take(option, pairs);
  for (const std::string& pair : pairs) {
    const size_t colon = std::min(pair.find(':'), pair.size());
    const std::string key = pair.substr(0, colon);
    const std::string value = pair.substr(std::min(colon + 1, pair.size()));
    if (key.empty() || value.empty() || (fits && !fits(key, value)))
      Refuse(option.where, "\"" + Printable(pair) + "\"; expected " + expected);
    target[key] = value;
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

}  // namespace kuryr
