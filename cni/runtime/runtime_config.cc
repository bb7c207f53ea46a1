#include "cni/runtime/runtime_config.h"

#include <glob.h>

#include <toml++/toml.h>
#include <array>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace kuryr::cni {
namespace {

namespace fs = std::filesystem;

/// Where the section of CNI is in containerd's files of version 3, 2 and 1.
constexpr std::array<const char*, 3> kContainerdPlugins = {"io.containerd.cri.v1.runtime",
                                                           "io.containerd.grpc.v1.cri", "cri"};
constexpr size_t kMostFiles = 100;

/// Files that match a shell's pattern, by name.
std::vector<fs::path> Matches(const fs::path& pattern) {
  glob_t found{};
  std::vector<fs::path> files;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

std::optional<toml::table> ReadToml(const fs::path& file) {
  const auto text = ReadFile(file, FileOwner::kAnybody);
  if (!text) return std::nullopt;
  try {
    return toml::parse(*text);
  } catch (const toml::parse_error& e) {
    throw std::runtime_error(file.string() + ": line " + std::to_string(e.source().begin.line) +
                             ": " + std::string(e.description()));
  }
}

std::vector<fs::path> PathsOf(const toml::node_view<const toml::node>& list) {
  std::vector<fs::path> paths;
  const toml::array* array = list.as_array();
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    if (const auto path = array->get(i)->value<std::string>()) paths.emplace_back(*path);
  }
  return paths;
}

void TakePath(const toml::node_view<const toml::node>& value, fs::path& target) {
  const auto path = value.value<std::string>();
  if (path && !path->empty()) target = *path;
}

void TakeBinDirs(const toml::node_view<const toml::node>& list,
                 const toml::node_view<const toml::node>& single, RuntimeConfig& config) {
  fs::path one;
  TakePath(single, one);
  if (!one.empty()) config.bin_dirs = {one};
  auto many = PathsOf(list);
  if (!many.empty()) config.bin_dirs = std::move(many);
}

/// Reads the file and what it imports; a later file wins.
void ReadContainerd(const fs::path& root, RuntimeConfig& config) {
  std::vector<fs::path> files = {Below(root, config.file)};
  std::set<fs::path> seen;
  for (size_t i = 0; i < files.size() && i < kMostFiles; ++i) {
    if (!seen.insert(files[i]).second) continue;
    const auto read = ReadToml(files[i]);
    if (!read) continue;
    const toml::table& table = *read;
    for (const char* plugin : kContainerdPlugins) {
      const auto cni = table["plugins"][plugin]["cni"];
      TakeBinDirs(cni["bin_dirs"], cni["bin_dir"], config);
      TakePath(cni["conf_dir"], config.conf_dir);
    }
    const fs::path folder = files[i].parent_path();
    for (const fs::path& import : PathsOf(table["imports"])) {
      const auto found = Matches(import.is_absolute() ? Below(root, import) : folder / import);
      files.insert(files.end(), found.begin(), found.end());
    }
  }
}

void ReadCrio(const fs::path& root, RuntimeConfig& config) {
  std::vector<fs::path> files = Matches(Below(root, "/etc/crio/crio.conf.d/*"));
  files.insert(files.begin(), Below(root, config.file));
  for (const fs::path& file : files) {
    const auto read = ReadToml(file);
    if (!read) continue;
    const toml::table& table = *read;
    const auto network = table["crio"]["network"];
    TakeBinDirs(network["plugin_dirs"], network["plugin_dir"], config);
    TakePath(network["network_dir"], config.conf_dir);
  }
}

template <typename Read>
RuntimeConfig Try(const char* name, const char* file, const fs::path& root, const Read& read) {
  RuntimeConfig config;
  config.name = name;
  config.file = file;
  const RuntimeConfig defaults = config;
  try {
    read(root, config);
  } catch (const std::exception& e) {
    config = defaults;
    config.problem = e.what();
  }
  return config;
}

}  // namespace

fs::path Below(const fs::path& root, const fs::path& folder) {
  return root / folder.relative_path();
}

std::vector<RuntimeConfig> FindRuntimes(const fs::path& root) {
  constexpr const char* kContainerd = "/etc/containerd/config.toml";
  constexpr const char* kCrio = "/etc/crio/crio.conf";
  const auto is_there = [&](const char* path) {
    std::error_code unknown;
    return fs::exists(Below(root, path), unknown);
  };
  std::vector<RuntimeConfig> runtimes;
  if (is_there(kContainerd))
    runtimes.push_back(Try("containerd", kContainerd, root, ReadContainerd));
  if (is_there(kCrio) || is_there("/etc/crio/crio.conf.d"))
    runtimes.push_back(Try("CRI-O", kCrio, root, ReadCrio));
  if (runtimes.empty()) runtimes.emplace_back();
  return runtimes;
}

}  // namespace kuryr::cni
