#include "cni/attachments/record_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr::cni {
namespace {

namespace fs = std::filesystem;

/// A pod with one interface has some 100. No pod is to have much of the agent's memory.
constexpr size_t kMostWords = 1000;

}  // namespace

std::string ReadRecord(int fd, const fs::path& path) {
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  do {
    size = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (size < 0) ThrowErrno("read " + path.string());
    text.append(buffer.data(), static_cast<size_t>(size));
  } while (static_cast<size_t>(size) == buffer.size());
  return text;
}

UniqueFd OpenRecord(const fs::path& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat status = {};
  if (fd && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode)) return fd;
  // A socket, a device without a driver, a link, a folder.
  if (fd || errno == ENXIO || errno == ENODEV || errno == ELOOP || errno == EISDIR) {
    fd.reset();
    errno = kNoFile;
  }
  return {};
}

std::string ReadRecordAt(const fs::path& path) {
  const UniqueFd fd = OpenRecord(path, O_RDONLY);
  if (fd) return ReadRecord(fd.get(), path);
  if (errno != ENOENT && errno != kNoFile) ThrowErrno("open " + path.string());
  return {};
}

std::vector<fs::path> RecordIndex::Find(const std::vector<std::string>& strings) {
  std::vector<Words> wanted;
  wanted.reserve(strings.size());
  for (const std::string& text : strings) wanted.push_back(WordsOf(text));
  const MutexLock lock(mutex_);
  try {
    Update();
  } catch (...) {
    changes_.Forget();
    throw;
  }
  std::vector<fs::path> found;
  for (const auto& record : records_) {
    const auto has = [&](const Words& string) { return MayHave(record.second, string); };
    if (std::any_of(wanted.begin(), wanted.end(), has)) found.push_back(folder_ / record.first);
  }
  return found;
}

RecordIndex::Words RecordIndex::WordsOf(const std::string& text) {
  Words words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('"', begin), text.size());
    const auto word = std::string_view(text).substr(begin, end - begin);
    if (!word.empty()) words.push_back(static_cast<uint32_t>(std::hash<std::string_view>{}(word)));
    begin = end + 1;
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  if (words.size() > kMostWords) words.clear();
  words.shrink_to_fit();
  return words;
}

bool RecordIndex::MayHave(const Words& words, const Words& wanted) {
  return words.empty() || std::includes(words.begin(), words.end(), wanted.begin(), wanted.end());
}

void RecordIndex::Update() {
  const auto names = changes_.Take();
  if (!names) return UpdateAll();
  for (const std::string& name : *names) UpdateOne(name);
}

void RecordIndex::UpdateOne(const std::string& name) {
  if (name.front() == '.') return;
  const std::string text = ReadRecordAt(folder_ / name);
  if (text.empty()) {
    records_.erase(name);
  } else {
    records_[name] = WordsOf(text);
  }
}

void RecordIndex::UpdateAll() {
  records_.clear();
  for (const fs::directory_entry& file : fs::directory_iterator(folder_))
    UpdateOne(file.path().filename());
}

}  // namespace kuryr::cni
