#include "binding/sysctl.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kuryr::binding {

bool SetSysctl(const std::string& name, char value) {
  const std::string path = "/proc/sys/" + name;
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const int refusal = file ? 0 : errno;
  // Where nothing has to change, a read-only /proc/sys will do.
  if (!file) file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return false;
  char present = value;
  if (!file || ::pread(file.get(), &present, 1, 0) != 1) ThrowErrno("read " + path);
  if (present == value) return true;
  if (refusal == 0 && ::pwrite(file.get(), &value, 1, 0) == 1) return true;
  ThrowErrno(refusal != 0 ? refusal : errno, "write " + path);
}

}  // namespace kuryr::binding
