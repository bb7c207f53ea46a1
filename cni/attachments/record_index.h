#pragma once

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/folder_changes.h"
#include "base/thread_annotations.h"
#include "base/unique_fd.h"

namespace kuryr::cni {

/// The errno of something else than a file in a record's place, which is none.
inline constexpr int kNoFile = EMEDIUMTYPE;

/// open(2) that waits for no pipe and follows no link. Nothing, and errno, where there is no file.
[[nodiscard]] UniqueFd OpenRecord(const std::filesystem::path& path, int flags);
/// From its beginning, wherever `fd` stands. Throws std::system_error, which names `path`.
[[nodiscard]] std::string ReadRecord(int fd, const std::filesystem::path& path);
/// Empty where there is none. Throws std::system_error.
[[nodiscard]] std::string ReadRecordAt(const std::filesystem::path& path);

/// Which records of a node have a string. Who asks again has only those read that changed. Usable
/// from several threads.
class RecordIndex {
 public:
  explicit RecordIndex(const std::filesystem::path& folder) : folder_(folder), changes_(folder) {}

  /// All records that have one of `strings`, which are JSON's, in quotation marks; and rarely
  /// another. Throws std::system_error, also when there is no such folder.
  [[nodiscard]] std::vector<std::filesystem::path> Find(const std::vector<std::string>& strings);

 private:
  /// Hashes of all that stands between two quotation marks, in order; empty for too many of them.
  using Words = std::vector<uint32_t>;
  static Words WordsOf(const std::string& text);
  static bool MayHave(const Words& words, const Words& wanted);

  void Update() REQUIRES(mutex_);
  void UpdateOne(const std::string& name) REQUIRES(mutex_);
  void UpdateAll() REQUIRES(mutex_);

  const std::filesystem::path folder_;
  Mutex mutex_;
  FolderChanges changes_ GUARDED_BY(mutex_);
  std::map<std::string, Words> records_ GUARDED_BY(mutex_);  ///< by file name
};

}  // namespace kuryr::cni
