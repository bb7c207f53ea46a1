#include "cni/attachments/attachment_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/ownership.h"

namespace kuryr::cni {
namespace {

namespace fs = std::filesystem;

/// Whether `fd` is still the file at `path`: a record is replaced by rename, and removed under its
/// lock.
bool IsStill(int fd, const fs::path& path) {
  struct stat open = {};
  struct stat named = {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

bool TryLock(int fd, const fs::path& path) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno != EWOULDBLOCK) ThrowErrno("lock " + path.string());
  return false;
}

void RemoveNoFile(const fs::path& path) {
  Log(LogLevel::kError, "what lies in an attachment record's place is no file; it is removed",
      {{"path", path.string()}});
  if (std::remove(path.c_str()) != 0 && errno != ENOENT) ThrowErrno("remove " + path.string());
}

void WaitForLock(int fd, const fs::path& path) {
  while (::flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) ThrowErrno("lock " + path.string());
  }
}

void WriteAll(int fd, const std::string& text, const fs::path& path) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t size = ::write(fd, text.data() + done, text.size() - done);
    if (size < 0) ThrowErrno("write " + path.string());
    done += static_cast<size_t>(size);
  }
}

/// From the answer to an ADD to the first process of its sandbox, at the most.
constexpr std::chrono::minutes kSettleTime{5};
/// A file name has at most 255 bytes, a container id may have any number.
constexpr size_t kLongestName = 240;
/// Only ever written by the holder of the record's lock. No record's name begins so: networks'
/// don't.
fs::path Successor(const fs::path& path) {
  return path.parent_path() / ("." + path.filename().string());
}

std::optional<AttachmentRecord> Parse(const std::string& text, const fs::path& path) {
  if (text.empty()) return std::nullopt;
  try {
    return ParseAttachmentRecord(text);
  } catch (const ParseError& e) {
    Log(LogLevel::kError, "attachment record unreadable",
        {{"file", path.string()}, {"error", e.what()}});
    return std::nullopt;
  }
}

std::optional<AttachmentRecord> Read(int fd, const fs::path& path) {
  return Parse(ReadRecord(fd, path), path);
}

std::optional<AttachmentRecord> ReadFile(const fs::path& path) {
  return Parse(ReadRecordAt(path), path);
}

/// The key that the file's name says: the file may be empty yet. A long key is in the record alone.
std::optional<AttachmentKey> KeyOf(const fs::path& path) {
  const std::string name = path.filename();
  if (name.front() == '.' || name.find(':') == std::string::npos) return std::nullopt;
  if (auto key = ParseAttachmentKey(name)) return key;
  const auto record = ReadFile(path);
  return record ? std::optional(record->key) : std::nullopt;
}

}  // namespace

LockedAttachment::LockedAttachment(fs::path path, UniqueFd fd)
    : path_(std::move(path)), fd_(std::move(fd)), record_(Read(fd_.get(), path_)) {}

void LockedAttachment::Write(AttachmentRecord record) {
  const fs::path successor = Successor(path_);
  // A killed writer's, or no file at all.
  if (::unlink(successor.c_str()) != 0 && errno != ENOENT)
    ThrowErrno("remove " + successor.string());
  UniqueFd fd(::open(successor.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) ThrowErrno("create " + successor.string());
  // Locked before it gets the record's name: the attachment is never unlocked in between.
  WaitForLock(fd.get(), successor);
  WriteAll(fd.get(), ToJson(record), successor);
  if (::rename(successor.c_str(), path_.c_str()) != 0) ThrowErrno("rename " + successor.string());
  fd_ = std::move(fd);
  record_ = std::move(record);
}

void LockedAttachment::Remove() {
  ::unlink(Successor(path_).c_str());
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) ThrowErrno("remove " + path_.string());
  record_.reset();
}

AttachmentStore::AttachmentStore(const fs::path& state_dir)
    : directory_(state_dir / "attachments"), index_(directory_) {
  MakeFolders();
}

void AttachmentStore::MakeFolders() const {
  const fs::path state_dir = directory_.parent_path();
  std::error_code error;
  fs::create_directories(state_dir.parent_path(), error);  // what it could not make, mkdir names
  for (const fs::path& path : {state_dir, directory_}) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) ThrowErrno("create " + path.string());
    RequireOwnFolder(path);  // who may write in it decides what is unplugged
  }
}

fs::path AttachmentStore::PathOf(const AttachmentKey& key) const {
  const std::string name = ToString(key);
  if (name.size() <= kLongestName) return directory_ / name;
  return directory_ / (key.network.substr(0, kLongestName / 2) + ":" + std::to_string(Hash(name)));
}

std::optional<LockedAttachment> AttachmentStore::Create(const AttachmentKey& key) {
  const fs::path path = PathOf(key);
  while (true) {
    UniqueFd fd = OpenRecord(path, O_RDWR | O_CREAT);
    if (!fd && errno == kNoFile) {
      RemoveNoFile(path);
      continue;
    }
    if (!fd && errno == ENOENT) {
      // Somebody took the folders away while we live.
      MakeFolders();
      continue;
    }
    if (!fd) ThrowErrno("create " + path.string());
    if (!TryLock(fd.get(), path)) return std::nullopt;
    if (IsStill(fd.get(), path)) return LockedAttachment(path, std::move(fd));
  }
}

std::optional<LockedAttachment> AttachmentStore::Take(const AttachmentKey& key) {
  return Lock(key, Busy::kWait);
}

std::optional<LockedAttachment> AttachmentStore::TryTake(const AttachmentKey& key) {
  return Lock(key, Busy::kGiveUp);
}

std::optional<LockedAttachment> AttachmentStore::Lock(const AttachmentKey& key, Busy busy) {
  const fs::path path = PathOf(key);
  while (true) {
    UniqueFd fd = OpenRecord(path, O_RDWR);
    // A DEL needs the lock and what the record says. It cannot be removed, but the pod's network
    // can.
    if (!fd && errno == EROFS && busy == Busy::kWait) fd = OpenRecord(path, O_RDONLY);
    if (!fd && errno == ENOENT) return std::nullopt;
    if (!fd && errno == kNoFile) {
      RemoveNoFile(path);
      return std::nullopt;
    }
    if (!fd) ThrowErrno("open " + path.string());
    if (!TryLock(fd.get(), path)) {
      if (busy == Busy::kGiveUp) return std::nullopt;
      const auto record = Read(fd.get(), path);
      if (record && !record->added && record->owner != ProcessId::Own()) Terminate(record->owner);
      WaitForLock(fd.get(), path);
    }
    if (IsStill(fd.get(), path)) return LockedAttachment(path, std::move(fd));
  }
}

bool AttachmentStore::IsInUse(const AttachmentKey& key) const {
  const fs::path path = PathOf(key);
  const UniqueFd fd = OpenRecord(path, O_RDWR);
  if (!fd) return errno != ENOENT && errno != kNoFile;
  if (!TryLock(fd.get(), path)) return true;
  const auto record = Read(fd.get(), path);
  return record && record->added && AgeOf(key) < kSettleTime;
}

std::optional<AttachmentRecord> AttachmentStore::Find(const AttachmentKey& key) const {
  return ReadFile(PathOf(key));
}

std::vector<AttachmentRecord> AttachmentStore::FindOthersMentioning(
    const std::vector<std::string>& texts, const AttachmentKey& own) const {
  MakeFolders();
  const fs::path own_path = PathOf(own);
  std::vector<AttachmentRecord> found;
  for (const fs::path& path : index_.Find(texts)) {
    if (path == own_path) continue;
    const std::string text = ReadRecordAt(path);
    const bool mentions = std::any_of(texts.begin(), texts.end(), [&](const std::string& wanted) {
      return text.find(wanted) != std::string::npos;
    });
    auto record = mentions ? Parse(text, path) : std::nullopt;
    if (record) found.push_back(*std::move(record));
  }
  return found;
}

std::chrono::seconds AttachmentStore::AgeOf(const AttachmentKey& key) const {
  std::error_code error;
  const auto written = fs::last_write_time(PathOf(key), error);
  if (error) return std::chrono::seconds(0);
  return std::chrono::duration_cast<std::chrono::seconds>(fs::file_time_type::clock::now() -
                                                          written);
}

std::vector<AttachmentKey> AttachmentStore::List() const {
  std::vector<AttachmentKey> keys;
  MakeFolders();
  for (const fs::directory_entry& file : fs::directory_iterator(directory_)) {
    const auto key = KeyOf(file.path());
    if (key) keys.push_back(*key);
  }
  return keys;
}

std::vector<AttachmentKey> AttachmentStore::List(const std::string& network) const {
  std::vector<AttachmentKey> keys = List();
  std::erase_if(keys, [&](const AttachmentKey& key) { return key.network != network; });
  return keys;
}

}  // namespace kuryr::cni
