#include "base/ownership.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr {

void RequireOwn(int fd, const std::filesystem::path& path) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) ThrowErrno("look at " + path.string());
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    ThrowErrno(EPERM, "trust " + path.string() + ", which belongs to uid " +
                          std::to_string(status.st_uid));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    ThrowErrno(EPERM, "trust " + path.string() + ", where others may write");
}

void RequireOwnFolder(const std::filesystem::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) ThrowErrno("open folder " + folder.string());
  RequireOwn(fd.get(), folder);
}

}  // namespace kuryr
