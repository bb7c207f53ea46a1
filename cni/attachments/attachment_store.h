#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "cni/attachments/attachment_record.h"
#include "cni/attachments/record_index.h"

namespace kuryr::cni {

/// A record that its holder alone may change. Movable; unlocks on destruction.
class LockedAttachment {
 public:
  /// As it was found, or as it was last written; std::nullopt when there was none that can be read.
  [[nodiscard]] const std::optional<AttachmentRecord>& record() const noexcept { return record_; }
  /// By atomic rename. Throws std::system_error.
  void Write(AttachmentRecord record);
  /// Removes the record: the last act of a DEL, and of an ADD that failed. Throws
  /// std::system_error.
  void Remove();

 private:
  friend class AttachmentStore;
  LockedAttachment(std::filesystem::path path, UniqueFd fd);

  std::filesystem::path path_;
  UniqueFd fd_;
  std::optional<AttachmentRecord> record_;
};

/// The records of a node: one JSON file each under STATE_DIR/attachments. Whoever works on an
/// attachment holds its lock: flock(2) on the record itself, so that no lock outlives its holder
/// and no lock file its record. Usable from several threads and processes.
class AttachmentStore {
 public:
  /// Makes the folders, 0700, where they are missing. Throws std::system_error, also for one that
  /// is a symbolic link, another user's, or writable by others.
  explicit AttachmentStore(const std::filesystem::path& state_dir);

  /// For an ADD: locks, and makes an empty record where there is none. A record found means a
  /// killed ADD, or one that was answered and never deleted. std::nullopt when somebody else is at
  /// work on the attachment.
  [[nodiscard]] std::optional<LockedAttachment> Create(const AttachmentKey& key);

  /// For a DEL: std::nullopt when there is no record. An ADD at work on it is told to give up
  /// (SIGTERM); whoever holds the lock is waited for, and is bound by its own deadline. Also of a
  /// file system that is read-only: Write and Remove throw then.
  [[nodiscard]] std::optional<LockedAttachment> Take(const AttachmentKey& key);
  /// For a GC: std::nullopt also when somebody is at work on it.
  [[nodiscard]] std::optional<LockedAttachment> TryTake(const AttachmentKey& key);

  /// Whether somebody is at work on it, or its ADD was answered within the last minutes: until
  /// then its namespace may be without a process.
  [[nodiscard]] bool IsInUse(const AttachmentKey& key) const;

  /// To read only; std::nullopt when there is none, or none yet that can be read.
  [[nodiscard]] std::optional<AttachmentRecord> Find(const AttachmentKey& key) const;
  /// The records of others than `own` whose JSON has one of `texts`, each a string in quotation
  /// marks; no more are parsed.
  [[nodiscard]] std::vector<AttachmentRecord> FindOthersMentioning(
      const std::vector<std::string>& texts, const AttachmentKey& own) const;
  /// Since the record was last written: zero when there is none.
  [[nodiscard]] std::chrono::seconds AgeOf(const AttachmentKey& key) const;
  /// Those that have a record now: all, or those of a network.
  [[nodiscard]] std::vector<AttachmentKey> List() const;
  [[nodiscard]] std::vector<AttachmentKey> List(const std::string& network) const;

 private:
  enum class Busy { kGiveUp, kWait };
  std::optional<LockedAttachment> Lock(const AttachmentKey& key, Busy busy);
  /// 0700, where they are missing. Throws std::system_error.
  void MakeFolders() const;
  [[nodiscard]] std::filesystem::path PathOf(const AttachmentKey& key) const;

  const std::filesystem::path directory_;
  mutable RecordIndex index_;
};

}  // namespace kuryr::cni
