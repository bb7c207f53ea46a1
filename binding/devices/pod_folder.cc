#include "binding/devices/pod_folder.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <random>

#include "base/error.h"
#include "base/log.h"
#include "base/rollback.h"

namespace kuryr::binding {
namespace {

namespace fs = std::filesystem;

/// The path is the operator's, and may go through links (/var/run).
UniqueFd Open(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// The name of a file while it is written. A killed writer leaves it.
std::string SuccessorOf(const std::string& name) { return "." + name + ".new"; }

void WriteAll(int fd, const std::string& text, const std::string& path) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t size = ::write(fd, text.data() + done, text.size() - done);
    if (size < 0) ThrowErrno("write " + path);
    done += static_cast<size_t>(size);
  }
}

}  // namespace

PodFolder::PodFolder(fs::path path, const std::string& option)
    : path_(std::move(path)), fd_(Open(path_)) {
  if (!fd_) ThrowErrno("open folder " + path_.string() + ", which " + option + " names");
}

std::optional<PodFolder> PodFolder::OpenIfExists(const fs::path& path) {
  UniqueFd fd = Open(path);
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) ThrowErrno("open folder " + path.string());
  return PodFolder(path, std::move(fd));
}

std::string PodFolder::FileOf(const Attachment& attachment, const std::string& ifname) {
  const std::string name = attachment.container_id + "-" + ifname;
  if (name.find('/') != std::string::npos)
    ThrowErrno(EINVAL, "use " + Printable(name) + " as file");
  return name;
}

void PodFolder::Write(const std::string& name, const std::string& text) const {
  const std::string successor = SuccessorOf(name);
  if (!Unlink(successor)) ThrowErrno(EISDIR, "create " + PathOf(successor));
  const UniqueFd fd(::openat(fd_.get(), successor.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd) ThrowErrno("create " + PathOf(successor));
  Rollback remove([&] { ::unlinkat(fd_.get(), successor.c_str(), 0); });
  if (::fchmod(fd.get(), 0644) != 0) ThrowErrno("chmod " + PathOf(successor));
  WriteAll(fd.get(), text, PathOf(successor));
  if (::renameat(fd_.get(), successor.c_str(), fd_.get(), name.c_str()) != 0)
    ThrowErrno("rename " + PathOf(successor) + " to " + name);
  remove.Dismiss();
}

std::optional<std::string> PodFolder::Read(const std::string& name) const {
  const UniqueFd fd(
      ::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // A pod may have put something else there (ELOOP: a symbolic link, ENXIO: a socket).
  const bool is_other = errno == ENOENT || errno == ELOOP || errno == ENXIO;
  if (!fd && !is_other) ThrowErrno("open " + PathOf(name));
  struct stat status = {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::array<char, 4096> text{};
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) ThrowErrno("read " + PathOf(name));
  return std::string(text.data(), static_cast<size_t>(size));
}

void PodFolder::Remove(const std::string& name) const {
  for (const std::string& file : {SuccessorOf(name), name}) {
    if (!Unlink(file)) {
      Log(LogLevel::kWarning, "directory in the place of a pod's file is left alone",
          {{"path", PathOf(file)}});
    }
  }
}

bool PodFolder::Unlink(const std::string& name) const {
  if (::unlinkat(fd_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR) ThrowErrno("remove " + PathOf(name));
  return ::unlinkat(fd_.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

std::optional<mode_t> PodFolder::ModeOf(const std::string& name) const {
  struct stat status = {};
  if (::fstatat(fd_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return status.st_mode;
  if (errno != ENOENT) ThrowErrno("look at " + PathOf(name));
  return std::nullopt;
}

bool PodFolder::HasSocket(const std::string& name) const {
  const auto mode = ModeOf(name);
  return mode && S_ISSOCK(*mode);
}

bool PodFolder::HasListener(const std::string& name) const {
  if (!HasSocket(name)) return false;
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) ThrowErrno("make a socket");
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  // The folder's own path may be longer than a socket's may be.
  const std::string path = "/proc/self/fd/" + std::to_string(fd_.get()) + "/" + name;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return true;
  return errno != ECONNREFUSED && errno != ENOENT;
}

void PodFolder::RemoveSocket(const std::string& name) const {
  if (HasSocket(name)) Remove(name);
}

void PodFolder::RemoveOther(const std::string& name) const {
  const auto mode = ModeOf(name);
  if (!mode || S_ISSOCK(*mode)) return;
  Log(LogLevel::kWarning, "what is no socket is removed from a socket's place",
      {{"path", PathOf(name)}});
  if (Unlink(name)) return;
  // A pod that fills the folder cannot know the name before.
  const std::string aside = "." + name + "." + std::to_string(std::random_device()());
  if (::renameat(fd_.get(), name.c_str(), fd_.get(), aside.c_str()) != 0)
    ThrowErrno("rename " + PathOf(name) + " to " + aside);
}

void PodFolder::TakeSocket(const PodFolder& from, const std::string& name) const {
  const std::string what = "move socket " + from.PathOf(name) + " to " + path_.string();
  if (::renameat2(from.fd_.get(), name.c_str(), fd_.get(), name.c_str(), RENAME_NOREPLACE) == 0)
    return;
  ThrowErrno(errno == EXDEV ? what + ", which is on another file system" : what);
}

}  // namespace kuryr::binding
