#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace kuryr::certificates {

/// Below [cni_daemon] state_dir: a FileSet with a program's own key for OVN's databases.
inline constexpr const char* kOvnFolder = "ovn";
inline constexpr const char* kKeyFile = "tls.key";
inline constexpr const char* kCertificateFile = "tls.crt";
/// Those whose certificates the program trusts.
inline constexpr const char* kAuthorityFile = "ca.crt";

/// Files of a folder that change together, as those of a Secret that the kubelet mounts do:
/// "current" is a symbolic link to a subfolder, which one rename replaces. Who reads
/// FOLDER/current/NAME never meets a key beside another one's certificate for long, and Open
/// vSwitch, which reads both again only where both have changed, reads them. One object at a time
/// may write. Throws std::system_error and std::filesystem::filesystem_error.
class FileSet {
 public:
  explicit FileSet(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// All files, by name; none where there are none. A file has at most 1 MiB.
  [[nodiscard]] std::map<std::string, std::string> Read() const;
  /// Replaces all files. Only this process's user may read them. Makes the folder.
  void Write(const std::map<std::string, std::string>& files) const;
  /// Where a file of this name is, for other programs.
  [[nodiscard]] std::filesystem::path PathOf(const std::string& name) const {
    return current() / name;
  }

 private:
  [[nodiscard]] std::filesystem::path current() const { return folder_ / "current"; }

  const std::filesystem::path folder_;
};

}  // namespace kuryr::certificates
