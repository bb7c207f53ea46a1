#include "config/config_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "config/ini_file.h"

namespace kuryr {
namespace {

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool IsNameBegin(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool IsNamePart(char c) { return IsNameBegin(c) || c == '.' || (c >= '0' && c <= '9'); }

/// The next reference in a text: its place, and the option that it names. Its place is the text's
/// end if there is none.
struct Dollar {
  size_t begin;
  size_t end;
  std::string_view name;  ///< empty: a dollar sign
};

/// Finds references as oslo.config does with Python's string.Template: $name, ${name}, and $$ or \$
/// for a dollar sign. Other text stays.
Dollar NextDollar(std::string_view text) {
  for (size_t at = text.find('$'); at < text.size(); at = text.find('$', at + 1)) {
    if (at > 0 && text[at - 1] == '\\') return {at - 1, at + 1, {}};
    if (text.substr(at + 1).starts_with('$')) return {at, at + 2, {}};
    const bool is_braced = text.substr(at + 1).starts_with('{');
    const size_t begin = at + (is_braced ? 2 : 1);
    if (begin >= text.size() || !IsNameBegin(text[begin])) continue;
    size_t end = begin;
    while (end < text.size() && IsNamePart(text[end])) ++end;
    const std::string_view name = text.substr(begin, end - begin);
    if (!is_braced) return {at, end, name};
    if (text.substr(end).starts_with('}')) return {at, end + 1, name};
  }
  return {text.size(), text.size(), {}};
}

/// A user who may write the file gets kuryr's rights. An operator may want that, so it is only a
/// warning.
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
  for (const std::string& name : names) {
    files_.push_back(Read(name));
    for (const std::filesystem::path& more : DropInsOf(name)) files_.push_back(Read(more));
  }
}

ConfigFiles::File ConfigFiles::Read(const std::string& name) {
  File file{.name = name, .sections = ReadIniFile(name)};
  WarnOfOtherWriters(name);
  return file;
}

Option ConfigFiles::FindRaw(const std::string& section, const std::string& name) const {
  const std::string where = "[" + section + "] " + name;
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    const auto options = file->sections.find(LowerCase(section));
    if (options == file->sections.end()) continue;
    const auto option = options->second.find(LowerCase(name));
    if (option != options->second.end()) return {file->name + ": " + where, option->second};
  }
  return {where, std::nullopt};
}

Option ConfigFiles::Find(const std::string& section, const std::string& name) const {
  Option option = FindRaw(section, name);
  if (option.value) option.value = Substituted(option, section, 0);
  return option;
}

/// "name" is an option of the section, or else of DEFAULT; "group.name" is an option of that group.
std::string ConfigFiles::ValueOf(const std::string& reference, const Option& from,
                                 const std::string& section, unsigned depth) const {
  constexpr unsigned kMostSteps = 10;
  const std::string shown = "\"$" + Printable(reference, 100) + "\"";
  if (depth == kMostSteps) Refuse(from.where, shown + " leads to options that name each other");
  const size_t dot = reference.find('.');
  const bool is_elsewhere = dot != std::string::npos;
  std::string found_in = is_elsewhere ? reference.substr(0, dot) : section;
  Option found = FindRaw(found_in, is_elsewhere ? reference.substr(dot + 1) : reference);
  if (!found.value && !is_elsewhere) found = FindRaw(found_in = "DEFAULT", reference);
  if (!found.value) {
    Refuse(from.where, shown +
                           " names an option that no file sets; write what it stands for, and " +
                           "$$ for a dollar sign");
  }
  return Substituted(found, found_in, depth + 1);
}

std::string ConfigFiles::Substituted(const Option& option, const std::string& section,
                                     unsigned depth) const {
  constexpr size_t kMostBytes = size_t{1} << 20;
  std::string_view rest = *option.value;
  std::string result;
  while (!rest.empty()) {
    const Dollar dollar = NextDollar(rest);
    result.append(rest.substr(0, dollar.begin));
    rest.remove_prefix(dollar.end);
    if (dollar.begin == dollar.end) continue;
    result += dollar.name.empty() ? "$" : ValueOf(std::string(dollar.name), option, section, depth);
    if (result.size() > kMostBytes) Refuse(option.where, "stands for more than 1 MiB");
  }
  return result;
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

std::string ConfigFiles::WhereOf(const std::string& section) const {
  const auto file = std::find_if(files_.rbegin(), files_.rend(), [&](const File& each) {
    return each.sections.count(section) != 0;
  });
  return (file == files_.rend() ? "" : file->name + ": ") + "[" + section + "]";
}

std::string ConfigFiles::WhereOf(const std::string& section, const std::string& name) const {
  const Option option = Find(section, name);
  if (option.value) return option.where;
  for (const std::string& other : OptionsOf(section)) {
    const std::string where = Find(section, other).where;
    const size_t start = where.rfind("[" + section + "]");
    if (start != std::string::npos) return where.substr(0, start) + option.where;
  }
  return option.where;
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
