#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "config/ini_file.h"

namespace kuryr {

/// One option, and where it was found.
struct Option {
  std::string where;  ///< "/etc/kuryr/kuryr.conf: [section] option"
  std::optional<std::string> value;

  /// False for "option =", which kuryr.conf has for an unset option.
  [[nodiscard]] bool set() const noexcept { return value && !value->empty(); }
};

/// A malformed configuration: what() names the file, the section, the option and the expected
/// value.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
[[noreturn]] void Refuse(const std::string& where, const std::string& why);

/// A variable of the environment, or null: getenv(3).
using GetEnv = std::function<const char*(const char* name)>;
/// The variable `name` of the environment, as an option whose `where` is that name.
[[nodiscard]] Option Variable(const GetEnv& getenv, const char* name);

inline constexpr const char* kDefaultConfigFile = "/etc/kuryr/kuryr.conf";

/// Several INI files (ReadIniFile) with their drop-ins; a later file overrides an earlier one.
class ConfigFiles {
 public:
  /// The later file wins. Without names, reads the default file if it exists. Throws ConfigError
  /// that names the file and the line.
  explicit ConfigFiles(std::vector<std::string> names);

  /// The option with the references in its value replaced, as in oslo.config: $name of the section
  /// or of DEFAULT, ${group.name}, and $$ for a dollar sign. Throws ConfigError for a reference to
  /// an option that no file sets: it knows no defaults.
  [[nodiscard]] Option Find(const std::string& section, const std::string& name) const;
  /// The option as it is written, with its references.
  [[nodiscard]] Option FindRaw(const std::string& section, const std::string& name) const;
  /// The sections whose names begin with `prefix`, in lower case and sorted, as "pool:blue".
  [[nodiscard]] std::set<std::string> SectionsOf(const std::string& prefix) const;
  /// "FILE: [section]" of the last file that has it.
  [[nodiscard]] std::string WhereOf(const std::string& section) const;
  /// Where an error about the option points: to its place, or to the file that has its section.
  [[nodiscard]] std::string WhereOf(const std::string& section, const std::string& name) const;
  /// The options of a section, in lower case.
  [[nodiscard]] std::set<std::string> OptionsOf(const std::string& section) const;

 private:
  struct File {
    std::string name;
    IniSections sections;
  };

  static File Read(const std::string& name);
  [[nodiscard]] std::string Substituted(const Option& option, const std::string& section,
                                        unsigned depth) const;
  [[nodiscard]] std::string ValueOf(const std::string& reference, const Option& from,
                                    const std::string& section, unsigned depth) const;

  std::vector<File> files_;
};

// Each Take leaves the target unchanged if no file has the option, and throws ConfigError for a
// malformed value.
void Take(const Option& option, std::string& target);
void Take(const Option& option, bool& target);
void Take(const Option& option, uint32_t& target, uint32_t least, uint32_t most);
void Take(const Option& option, std::chrono::seconds& target, uint32_t most, uint32_t least = 1);
/// Takes a list separated by commas, as oslo.config's ListOpt.
void Take(const Option& option, std::vector<std::string>& target);
/// Takes "KEY:VALUE" pairs separated by commas, as oslo.config's DictOpt; existing pairs stay. Key
/// and value are not empty and pass `fits`. An error names `expected`, for example "NODE:HOST".
void TakePairs(
    const Option& option, const std::string& expected, std::map<std::string, std::string>& target,
    const std::function<bool(const std::string& key, const std::string& value)>& fits = {});
/// An absolute path.
void Take(const Option& option, std::filesystem::path& target);
/// A file that must be readable.
void TakeFile(const Option& option, std::string& target);

}  // namespace kuryr
