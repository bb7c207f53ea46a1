#include "binding/netlink/sysctl.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr::binding {

bool SetSysctl(const std::string& name, char value) {
  const std::string path = "/proc/sys/" + name;
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return false;
  char present = value;
  if (!file || ::read(file.get(), &present, 1) != 1) ThrowErrno("read " + path);
  if (present == value) return true;
  // Only now: where nothing has to change, a read-only /proc/sys will do.
  file.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), &value, 1) != 1) ThrowErrno("write " + path);
  return true;
}

}  // namespace kuryr::binding
