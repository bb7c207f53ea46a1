#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/ownership.h"
#include "base/unique_fd.h"

namespace kuryr {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;

void RequireRegular(int fd, const std::filesystem::path& path) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) ThrowErrno("look at " + path.string());
  if (!S_ISREG(status.st_mode)) ThrowErrno(EINVAL, "read " + path.string() + ", no regular file");
}

std::string ReadAll(int fd, const std::filesystem::path& path) {
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::read(fd, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<size_t>(size));
    if (text.size() > kMostBytes) ThrowErrno(EFBIG, "read " + path.string());
  }
  if (size < 0) ThrowErrno("read " + path.string());
  return text;
}

}  // namespace

std::optional<std::string> ReadFile(const std::filesystem::path& path, FileOwner owner) {
  const bool own = owner == FileOwner::kRootAlone;
  // O_NONBLOCK: a pipe or device in the file's place must not block the call.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (own ? O_NOFOLLOW : 0);
  const UniqueFd fd(::open(path.c_str(), flags));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    ThrowErrno("open " + path.string());
  }
  if (own) {
    RequireOwnFolder(path.parent_path());
    RequireOwn(fd.get(), path);
  }
  RequireRegular(fd.get(), path);
  return ReadAll(fd.get(), path);
}

std::vector<std::filesystem::path> DropInsOf(const std::filesystem::path& file) {
  std::vector<std::filesystem::path> found;
  const std::filesystem::path folder = file.string() + ".d";
  std::error_code unknown;
  if (!std::filesystem::is_directory(folder, unknown)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".conf") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace kuryr
