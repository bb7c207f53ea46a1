#include "devices/sysfs_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string_view>
#include <system_error>

namespace kuryr::devices {

namespace fs = std::filesystem;

std::string SysfsFolder::Read(const std::string& name) const {
  std::array<char, 255> text{};
  std::ifstream file(path_ / name);
  file.read(text.data(), text.size());
  const std::string_view all(text.data(), static_cast<size_t>(file.gcount()));
  return std::string(all.substr(0, all.find('\n')));
}

std::optional<uint32_t> SysfsFolder::ReadNumber(const std::string& name) const {
  const std::string text = Read(name);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string SysfsFolder::TargetOf(const std::string& name) const {
  std::error_code error;
  return fs::read_symlink(path_ / name, error).filename();
}

std::vector<std::string> SysfsFolder::Entries(const std::string& name) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path_ / name, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool SysfsFolder::Has(const std::string& name) const {
  std::error_code error;
  return fs::exists(path_ / name, error);
}

}  // namespace kuryr::devices
