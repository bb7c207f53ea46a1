#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kuryr::devices {

/// One folder of sysfs(5), or of a tree like it. Devices come and go while it is read, so a missing
/// or unreadable file is empty. Keeps nothing, thread-safe.
class SysfsFolder {
 public:
  explicit SysfsFolder(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] SysfsFolder At(const std::string& name) const { return SysfsFolder(path_ / name); }
  /// The first line of a file, at most 255 bytes.
  [[nodiscard]] std::string Read(const std::string& name) const;
  /// A number in decimal.
  [[nodiscard]] std::optional<uint32_t> ReadNumber(const std::string& name) const;
  /// The last part of a symbolic link's target.
  [[nodiscard]] std::string TargetOf(const std::string& name) const;
  /// The names in a folder below, sorted.
  [[nodiscard]] std::vector<std::string> Entries(const std::string& name = ".") const;
  [[nodiscard]] bool Has(const std::string& name) const;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace kuryr::devices
