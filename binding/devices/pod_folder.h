#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "binding/plan/attachment.h"

namespace kuryr::binding {

/// A folder of the node, mostly one that pods mount to find what their interfaces are. A pod that
/// may write to it can have put anything there: names are one component each, and no link in it is
/// followed. Failures throw std::system_error with the path. Immutable, thread-safe.
class PodFolder {
 public:
  /// `option` names the configuration's option that says `path`, for the error when there is none.
  PodFolder(std::filesystem::path path, const std::string& option);
  /// nullopt when there is none.
  [[nodiscard]] static std::optional<PodFolder> OpenIfExists(const std::filesystem::path& path);

  /// "CONTAINER_ID-IFNAME": the file that is for one interface of a pod.
  [[nodiscard]] static std::string FileOf(const Attachment& attachment, const std::string& ifname);

  /// All of the text or nothing, readable for everybody. Replaces a file of that name; throws
  /// std::errc::is_a_directory for a directory.
  void Write(const std::string& name, const std::string& text) const;
  /// nullopt when there is no regular file of that name. Cut at 4 KiB.
  [[nodiscard]] std::optional<std::string> Read(const std::string& name) const;
  /// And what a killed Write of it left. Succeeds when there is none. A directory of that name with
  /// something in it is not ours, and stays.
  void Remove(const std::string& name) const;

  [[nodiscard]] bool HasSocket(const std::string& name) const;
  /// Whether the socket has a listener: connects to it, and leaves again.
  [[nodiscard]] bool HasListener(const std::string& name) const;
  /// Removes it if it is a socket.
  void RemoveSocket(const std::string& name) const;
  /// Takes the name from whatever else has it: a file, a link wherever it leads, a directory. One
  /// with something in it gets another name in the folder.
  void RemoveOther(const std::string& name) const;
  /// Moves the socket of that name out of `from`; its listener stays. Throws
  /// std::errc::file_exists where something else has the name here.
  void TakeSocket(const PodFolder& from, const std::string& name) const;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  /// nullopt when nothing has the name.
  [[nodiscard]] std::optional<mode_t> ModeOf(const std::string& name) const;
  /// Also an empty directory. False for one that cannot be removed.
  [[nodiscard]] bool Unlink(const std::string& name) const;
  PodFolder(std::filesystem::path path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  [[nodiscard]] std::string PathOf(const std::string& name) const { return path_ / name; }

  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace kuryr::binding
