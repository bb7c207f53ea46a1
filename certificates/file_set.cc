#include "certificates/file_set.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/unique_fd.h"

namespace kuryr::certificates {
namespace {

namespace fs = std::filesystem;

void WriteFile(const fs::path& file, const std::string& text) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) ThrowErrno("write " + file.string());
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t part = ::write(fd.get(), text.data() + written, text.size() - written);
    if (part < 0 && errno != EINTR) ThrowErrno("write " + file.string());
    if (part > 0) written += static_cast<size_t>(part);
  }
}

}  // namespace

std::map<std::string, std::string> FileSet::Read() const {
  std::map<std::string, std::string> files;
  if (!fs::is_directory(current())) return files;
  for (const fs::directory_entry& entry : fs::directory_iterator(current())) {
    if (auto text = ReadFile(entry.path(), FileOwner::kAnybody))
      files.emplace(entry.path().filename(), std::move(*text));
  }
  return files;
}

void FileSet::Write(const std::map<std::string, std::string>& files) const {
  fs::create_directories(folder_);
  fs::permissions(folder_, fs::perms::owner_all);
  const fs::path former = fs::is_symlink(current()) ? fs::read_symlink(current()) : fs::path();
  const fs::path next = former == "a" ? "b" : "a";
  fs::remove_all(folder_ / next);
  fs::create_directory(folder_ / next);
  for (const auto& [name, text] : files) WriteFile(folder_ / next / name, text);
  const fs::path link = folder_ / "next";
  fs::remove(link);
  fs::create_symlink(next, link);
  fs::rename(link, current());
  if (!former.empty()) fs::remove_all(folder_ / former);
}

}  // namespace kuryr::certificates
