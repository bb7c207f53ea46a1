#include "cni/plugin/install.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/unique_fd.h"
#include "cni/runtime/conflist.h"
#include "cni/runtime/runtime_config.h"

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

constexpr const char* kOwnProgram = "/proc/self/exe";
constexpr const char* kConflists[] = {kImageConflist,
                                      "/usr/share/doc/kuryr-cni/examples/10-kuryr.conflist"};

/// `remedy` is for a source that the user may choose.
UniqueFd Open(const fs::path& source, const std::string& remedy = "") {
  UniqueFd fd(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) ThrowErrno("open " + source.string() + remedy);
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

bool IsThere(const fs::path& file) {
  std::error_code unknown;
  return fs::exists(file, unknown);
}

/// The folders that an installation is about, below the node's root.
struct Folders {
  std::vector<fs::path> bin_dirs;   ///< get the program
  std::vector<fs::path> conf_dirs;  ///< get the network configuration
  std::vector<fs::path> search;     ///< where the node's runtimes find plugins
  std::string warnings;             ///< a line each
};

void AddOnce(std::vector<fs::path>& folders, const fs::path& folder) {
  if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
}

/// The mount of what there is of a path; 0 where the kernel does not tell.
uint64_t MountOf(fs::path path) {
  while (!IsThere(path) && path.has_relative_path()) path = path.parent_path();
  struct statx found = {};
  const bool told = ::statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID, &found) == 0 &&
                    (found.stx_mask & STATX_MNT_ID) != 0;
  return told ? found.stx_mnt_id : 0;
}

/// In a container the node's folders are mounted one by one below its root. A folder beside them
/// would be the container's own.
bool ReachesNode(const fs::path& host, const fs::path& folder) {
  const uint64_t own = MountOf(host);
  const bool one_by_one = host != "/" && MountOf(Below(host, kDefaultBinDir)) != own;
  return !one_by_one || MountOf(Below(host, folder)) != own;
}

/// Adds a folder that a runtime reads.
void AddReachable(std::vector<fs::path>& folders, const fs::path& folder, const Installation& to,
                  const RuntimeConfig& runtime, std::string& warnings) {
  if (ReachesNode(to.host, folder)) return AddOnce(folders, Below(to.host, folder));
  warnings += "not installed in " + folder.string() + ", where " + runtime.name + " looks (" +
              runtime.file.string() + "): nothing is mounted at " +
              Below(to.host, folder).string() + "\n";
}

Folders FoldersOf(const Installation& to) {
  Folders folders;
  if (to.bin_dir.empty()) folders.bin_dirs = {Below(to.host, kDefaultBinDir)};
  for (const RuntimeConfig& runtime : FindRuntimes(to.host)) {
    if (!runtime.problem.empty())
      folders.warnings +=
          runtime.name + " is taken to have its defaults: " + runtime.problem + "\n";
    if (to.bin_dir.empty())
      AddReachable(folders.bin_dirs, runtime.bin_dirs.front(), to, runtime, folders.warnings);
    if (to.conf_dir.empty())
      AddReachable(folders.conf_dirs, runtime.conf_dir, to, runtime, folders.warnings);
    for (const fs::path& folder : runtime.bin_dirs) AddOnce(folders.search, Below(to.host, folder));
  }
  if (!to.bin_dir.empty()) folders.bin_dirs = folders.search = {Below(to.host, to.bin_dir)};
  if (folders.conf_dirs.empty())
    folders.conf_dirs = {Below(to.host, to.conf_dir.empty() ? kDefaultConfDir : to.conf_dir)};
  return folders;
}

/// The node's network configuration, for plugins in `search`.
std::string ListFor(const Installation& to, const std::vector<fs::path>& search) {
  std::string list = ReadFile(to.conflist, FileOwner::kAnybody).value_or("");
  const bool has_portmap = std::any_of(search.begin(), search.end(), [](const fs::path& folder) {
    return IsThere(folder / "portmap");
  });
  if (has_portmap && !to.leaves_out_portmap) list = WithPortmap(list);
  return WithKnownVersions(list, search);
}

/// kuryr.conf and its drop-ins, as one file for the node.
std::string WholeConf(const fs::path& file) {
  std::string whole = ReadFile(file, FileOwner::kAnybody).value_or("");
  for (const fs::path& more : DropInsOf(file))
    whole += "\n" + ReadFile(more, FileOwner::kAnybody).value_or("");
  return whole;
}

std::vector<File> FilesOf(const Installation& to, const Folders& folders) {
  std::vector<File> files;
  files.reserve(folders.bin_dirs.size() + folders.conf_dirs.size() + 1);
  for (const fs::path& folder : folders.bin_dirs)
    files.push_back({kOwnProgram, folder / "kuryr-cni", 0755, Open(kOwnProgram), {}});
  const fs::path conf = Below(to.host, "/etc/kuryr/kuryr.conf");
  std::error_code missing;
  UniqueFd conf_from = Open(to.kuryr_conf, " (--config-file names another)");
  if (!fs::equivalent(to.kuryr_conf, conf, missing))
    files.push_back({to.kuryr_conf, conf, 0600, std::move(conf_from), WholeConf(to.kuryr_conf)});
  const std::string list = ListFor(to, folders.search);
  for (const fs::path& folder : folders.conf_dirs)
    files.push_back({to.conflist, folder / to.conflist.filename(), 0644,
                     Open(to.conflist, " (--conflist names another)"), list});
  return files;
}

/// A network configuration in one of the folders that is not `own`.
std::optional<fs::path> OtherConfiguration(const std::vector<fs::path>& folders,
                                           const fs::path& own) {
  std::error_code missing;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder, missing)) {
      const fs::path extension = entry.path().extension();
      const bool is_read = extension == ".conflist" || extension == ".conf" || extension == ".json";
      if (is_read && entry.path().filename() != own) return entry.path();
    }
  }
  return std::nullopt;
}

/// Whoever tries the command on a machine must not change the network of its containers. Empty if
/// the user has named the machine, or it has no network yet.
std::string WhyNot(const Installation& asked, const Installation& to, const Folders& folders) {
  if (!asked.host.empty() || to.host == kImageRoot) return "";
  const auto other = OtherConfiguration(folders.conf_dirs, to.conflist.filename());
  if (!other) return "";
  return "this machine has the network configuration " + other->string() +
         ", and runtimes take the first by name: --host / installs kuryr-cni beside it";
}

std::string TextOf(const std::vector<File>& files) {
  std::string text;
  for (const File& each : files)
    text +=
        (IsThere(each.target) ? "would replace " : "would install ") + each.target.string() + "\n";
  return text;
}

/// With the defaults of what the user has not named.
Installation Completed(Installation to) {
  if (to.host.empty()) to.host = fs::is_directory(kImageRoot) ? kImageRoot : "/";
  if (!to.conflist.empty()) return to;
  const auto* const found = std::find_if(std::begin(kConflists), std::end(kConflists),
                                         [](const char* file) { return IsThere(file); });
  to.conflist = found == std::end(kConflists) ? kConflists[0] : *found;
  return to;
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

std::string Install(const Installation& asked) {
  const Installation to = Completed(asked);
  if (!fs::is_directory(to.host))
    throw std::runtime_error("no folder " + to.host.string() +
                             ": --host says where the node's root is");
  const Folders folders = FoldersOf(to);
  const std::vector<File> files = FilesOf(to, folders);
  const std::string why_not = WhyNot(asked, to, folders);
  if (to.only_tells)
    return folders.warnings + (why_not.empty() ? "" : why_not + "\n") + TextOf(files);
  if (!why_not.empty()) throw std::runtime_error("nothing is installed: " + why_not);
  const fs::path state = Below(to.host, "/run/kuryr");
  fs::create_directories(state);
  fs::permissions(state, fs::perms::owner_all);
  std::string done = folders.warnings;
  for (const File& each : files) {
    Put(each);
    done += "installed " + each.target.string() + "\n";
  }
  return done;
}

}  // namespace kuryr::cni
