#include "cni/doctor/runtime_checks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cni/protocol/agent_query.h"
#include "cni/protocol/agent_socket.h"
#include "cni/runtime/conflist.h"
#include "cni/runtime/plugin_versions.h"
#include "cni/runtime/runtime_config.h"

namespace kuryr::cni::doctor {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kOwnType = "kuryr-cni";
constexpr const char* kSubject = "network configuration";
constexpr const char* kVersions = "versions of CNI";

/// The first configuration by name, which runtimes take (libcni).
std::optional<fs::path> FirstConfiguration(const fs::path& folder) {
  std::set<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".conflist" || extension == ".conf" || extension == ".json")
      files.insert(entry.path());
  }
  return files.empty() ? std::nullopt : std::optional(*files.begin());
}

/// A runtime, and its folders as this process sees them.
struct Place {
  RuntimeConfig runtime;
  std::vector<fs::path> bin_dirs;
  fs::path conf_dir;

  /// For messages: the runtime and the file that names these folders; empty for the defaults.
  [[nodiscard]] std::string Reader() const {
    return runtime.file.empty()
               ? ""
               : ", where " + runtime.name + " looks (" + runtime.file.string() + ")";
  }
};

std::vector<Place> PlacesOf(const RuntimeFolders& folders) {
  std::vector<Place> places;
  for (RuntimeConfig& runtime : FindRuntimes(folders.host)) {
    Place place;
    for (const fs::path& folder : runtime.bin_dirs)
      place.bin_dirs.push_back(Below(folders.host, folder));
    place.conf_dir = Below(folders.host, runtime.conf_dir);
    place.runtime = std::move(runtime);
    if (!folders.bin_dir.empty()) place.bin_dirs = {folders.bin_dir};
    if (!folders.conf_dir.empty()) place.conf_dir = folders.conf_dir;
    places.push_back(std::move(place));
  }
  // A caller that gives both folders asks about one runtime, whatever the node configures.
  if (!folders.bin_dir.empty() && !folders.conf_dir.empty()) {
    places.resize(1);
    places.front().runtime = {};
  }
  return places;
}

json ReadConfiguration(const fs::path& file) {
  return ParseJson(ReadFile(file, FileOwner::kAnybody).value_or(""));
}

json FirstPlugin(const json& configuration) {
  const auto plugins = configuration.find("plugins");
  if (plugins == configuration.end()) return configuration;
  return plugins->is_array() && !plugins->empty() ? plugins->front() : json::object();
}

/// Whether `type` is this program under another name, as `ovs` in place of ovs-cni.
bool IsOwnProgram(const std::vector<fs::path>& folders, const std::string& type) {
  std::error_code error;
  return !type.empty() && type.find('/') == std::string::npos &&
         std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
           return fs::equivalent(folder / type, folder / kOwnType, error);
         });
}

Finding CheckConfiguration(const Place& place, bool& is_standalone) {
  const auto file = FirstConfiguration(place.conf_dir);
  if (!file) {
    return {kSubject, Verdict::kBad, "there is none in " + place.conf_dir.string() + place.Reader(),
            "put etc/10-kuryr.conflist there: the node is not ready without"};
  }
  try {
    const json plugin = FirstPlugin(ReadConfiguration(*file));
    const std::string type = StringAt(plugin, "type");
    const std::string found = Printable(file->string()) + " has type " + Printable(type);
    const bool renamed = type != kOwnType && IsOwnProgram(place.bin_dirs, type);
    is_standalone = renamed || (type == kOwnType && plugin.contains("ipam"));
    if (renamed) return {kSubject, Verdict::kGood, found + ", which is kuryr-cni", ""};
    if (type == kOwnType) return {kSubject, Verdict::kGood, found, ""};
    if (type.starts_with("multus")) {
      return {kSubject, Verdict::kUnknown, found,
              "none, if kuryr-cni is among the networks that Multus calls"};
    }
    return {kSubject, Verdict::kBad, found + ", and runtimes take the first file by name",
            "remove it, or give kuryr-cni's a name that sorts before"};
  } catch (const std::exception& e) {
    return {kSubject, Verdict::kBad, Printable(file->string()) + ": " + e.what(),
            "fix or remove the file"};
  }
}

Finding CheckProgram(const Place& place) {
  int error = 0;
  for (const fs::path& folder : place.bin_dirs) {
    const fs::path program = folder / kOwnType;
    if (::access(program.c_str(), X_OK) == 0)
      return {"program", Verdict::kGood, program.string() + " can be executed", ""};
    error = errno;
  }
  return {"program", Verdict::kBad,
          (place.bin_dirs.front() / kOwnType).string() + place.Reader() + ": " +
              std::generic_category().message(error),
          "run kuryr-cni install, or copy kuryr-cni there, mode 0755"};
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all.append(all.empty() ? "" : ", ").append(text);
  return all;
}

/// What a plugin's answer means for the list that offers `offered`.
Finding Judge(const PluginVersions& plugin, const std::vector<std::string>& offered,
              const std::vector<std::string>& common, const fs::path& file) {
  if (plugin.program.empty())
    return {kVersions, Verdict::kBad,
            Printable(file.string()) + " has plugin " + Printable(plugin.type) +
                ", and the runtime's folders have no such program",
            "install it, or take it out of the list: every pod fails"};
  if (!plugin.problem.empty())
    return {kVersions, Verdict::kUnknown, plugin.program.string() + ": " + plugin.problem,
            "none, if it knows " + Joined(offered)};
  return {kVersions, Verdict::kBad,
          Printable(file.string()) + " offers CNI " + Joined(offered) + ", and its plugin " +
              plugin.program.string() + " knows " + Printable(Joined(plugin.versions)),
          "set \"cniVersions\" there to " + json(common).dump() +
              ", or run kuryr-cni install: with a runtime that knows a newer one, no pod starts"};
}

/// Whether all plugins of the first configuration know what it offers.
Findings CheckVersions(const Place& place) {
  const auto file = FirstConfiguration(place.conf_dir);
  if (!file) return {};
  const auto list = nlohmann::ordered_json::parse(ReadFile(*file, FileOwner::kAnybody).value_or(""),
                                                  nullptr, false);
  const auto plugins = AskVersions(list, place.bin_dirs);
  const auto offered = OfferedVersions(list);
  const auto common = CommonVersions(list, plugins);
  Findings findings;
  for (const PluginVersions& plugin : plugins) {
    const bool knows = std::all_of(offered.begin(), offered.end(), [&](const auto& version) {
      return plugin.problem.empty() && plugin.Knows(version);
    });
    if (!knows) findings.push_back(Judge(plugin, offered, common, *file));
  }
  if (findings.empty() && !plugins.empty())
    findings.push_back({kVersions, Verdict::kGood, "all plugins know " + Joined(offered), ""});
  return findings;
}

void CheckPlace(const Place& place, Runtime& runtime) {
  if (!place.runtime.problem.empty())
    runtime.findings.push_back({place.runtime.name, Verdict::kUnknown, place.runtime.problem,
                                "fix the file: its defaults are looked at"});
  runtime.findings.push_back(CheckConfiguration(place, runtime.is_standalone));
  runtime.findings.push_back(CheckProgram(place));
  if (runtime.findings[runtime.findings.size() - 2].verdict == Verdict::kBad) return;
  for (Finding& finding : CheckVersions(place)) runtime.findings.push_back(std::move(finding));
}

}  // namespace

Runtime CheckRuntime(const RuntimeFolders& folders) {
  Runtime runtime;
  for (const Place& place : PlacesOf(folders)) CheckPlace(place, runtime);
  return runtime;
}

bool HasAgent(const Config& config) {
  std::error_code error;
  return config.use_agent == UseAgent::kAlways ||
         (config.use_agent == UseAgent::kAuto && fs::exists(config.agent_socket, error));
}

Finding CheckAgent(const Config& config) {
  const std::string subject = "kuryr-daemon";
  if (!HasAgent(config))
    return {subject, Verdict::kUnknown, "none: kuryr-cni works alone",
            "none, if this node shall have no agent; otherwise start kuryr-daemon"};
  const std::string mend = "look at kuryr-daemon status, and at its log";
  try {
    const AgentReply reply =
        QueryAgent(StatusSocketOf(config.agent_socket), "ready", "", std::chrono::seconds(8));
    if (reply.status == 0) return {subject, Verdict::kGood, "ready at " + config.agent_socket, ""};
    return {subject, Verdict::kBad, reply.out, mend};
  } catch (const std::exception& e) {
    return {subject, Verdict::kBad, e.what(), "start kuryr-daemon; " + mend};
  }
}

}  // namespace kuryr::cni::doctor
