#pragma once

#include <INIReader.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kuryr::cni {

/// One option, and where it was found.
struct Option {
  std::string where;  ///< "/etc/kuryr/kuryr.conf: [section] option"
  std::optional<std::string> value;

  /// kuryr.conf has "option =" for what is not set.
  [[nodiscard]] bool set() const noexcept { return value && !value->empty(); }
};

/// CniError 7.
[[noreturn]] void Refuse(const std::string& where, const std::string& why);

/// INI files, one laid over the other.
class ConfigFiles {
 public:
  /// The later file wins. Throws CniError 7 that names the file and the line.
  explicit ConfigFiles(const std::vector<std::string>& names);

  [[nodiscard]] Option Find(const char* section, const char* name) const;

 private:
  std::vector<std::pair<std::string, INIReader>> readers_;
};

// What is not in the files leaves the target as it is; what is malformed is a CniError 7.
void Take(const Option& option, std::string& target);
void Take(const Option& option, bool& target);
void Take(const Option& option, uint32_t& target, uint32_t least, uint32_t most);
void Take(const Option& option, std::chrono::seconds& target, uint32_t most, uint32_t least = 1);
/// Separated by commas, as oslo.config's ListOpt.
void Take(const Option& option, std::vector<std::string>& target);
/// An absolute path.
void Take(const Option& option, std::filesystem::path& target);
/// A file that must be readable.
void TakeFile(const Option& option, std::string& target);

}  // namespace kuryr::cni
