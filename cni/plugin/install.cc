#include "cni/plugin/install.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <stdexcept>

#include "base/error.h"
#include "base/file.h"
#include "base/unique_fd.h"
#include "cni/plugin/conflist.h"

namespace kuryr::cni {
namespace {

namespace fs = std::filesystem;

struct File {
  fs::path source;
  fs::path target;
  mode_t mode;
  UniqueFd from;
  std::string text;  ///< in place of the source's; empty: the source's
};

UniqueFd Open(const fs::path& source) {
  UniqueFd fd(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) ThrowErrno("open " + source.string());
  return fd;
}

void Copy(const File& file, int target, const fs::path& path) {
  constexpr size_t kMost = size_t{1} << 30;
  ssize_t sent = 0;
  do {
    sent = ::sendfile(target, file.from.get(), nullptr, kMost);
  } while (sent > 0);
  if (sent < 0) ThrowErrno("copy " + file.source.string() + " to " + path.string());
}

void Fill(const File& file, int target, const fs::path& path) {
  if (file.text.empty()) return Copy(file, target, path);
  const ssize_t written = ::write(target, file.text.data(), file.text.size());
  if (written != static_cast<ssize_t>(file.text.size())) ThrowErrno("write " + path.string());
}

bool IsThere(const fs::path& program) {
  std::error_code unknown;
  return fs::exists(program, unknown);
}

void Put(const File& file) {
  const fs::path folder = file.target.parent_path();
  fs::create_directories(folder);
  const fs::path unready = folder / ("." + file.target.filename().string() + ".new");
  // A file of this name may be a pipe, or a hard link to a file that must stay.
  fs::remove(unready);
  UniqueFd fd(::open(unready.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) ThrowErrno("create " + unready.string());
  Fill(file, fd.get(), unready);
  // The file is on the disk before its rename: a power failure leaves the old file or the new.
  if (::fchmod(fd.get(), file.mode) != 0 || ::fsync(fd.get()) != 0)
    ThrowErrno("write " + unready.string());
  fd.reset();  // a file that is open for writing cannot be executed
  if (::rename(unready.c_str(), file.target.c_str()) != 0) ThrowErrno("rename " + unready.string());
}

}  // namespace

std::string Install(const Installation& to) {
  if (!fs::is_directory(to.host))
    throw std::runtime_error("no folder " + to.host.string() +
                             ": --host says where the node's root is");
  const auto below = [&](const fs::path& folder) { return to.host / folder.relative_path(); };
  const auto file = [](const fs::path& source, const fs::path& folder, const fs::path& name,
                       mode_t mode) { return File{source, folder / name, mode, Open(source), {}}; };
  std::array files = {
      file("/proc/self/exe", below(to.bin_dir), "kuryr-cni", 0755),
      file(to.kuryr_conf, below("/etc/kuryr"), "kuryr.conf", 0600),
      file(to.conflist, below(to.conf_dir), to.conflist.filename(), 0644),
  };
  const bool has_portmap = !to.leaves_out_portmap && IsThere(below(to.bin_dir) / "portmap");
  if (has_portmap)
    files.back().text = WithPortmap(ReadFile(to.conflist, FileOwner::kAnybody).value_or(""));
  const fs::path state = below("/run/kuryr");
  fs::create_directories(state);
  fs::permissions(state, fs::perms::owner_all);
  std::string done;
  for (const File& each : files) {
    Put(each);
    done += "installed " + each.target.string() + "\n";
  }
  return done;
}

}  // namespace kuryr::cni
