#include "binding/netlink/sysctl.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr::binding {

std::optional<char> ReadSysctl(const std::string& name) {
  const std::string path = "/proc/sys/" + name;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  char present = 0;
  if (!file || ::read(file.get(), &present, 1) != 1) ThrowErrno("read " + path);
  return present;
}

bool SetSysctl(const std::string& name, char value) {
  const std::optional<char> present = ReadSysctl(name);
  if (!present || *present == value) return present.has_value();
  // Only now: where nothing has to change, a read-only /proc/sys will do.
  const std::string path = "/proc/sys/" + name;
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), &value, 1) != 1) ThrowErrno("write " + path);
  return true;
}

}  // namespace kuryr::binding
