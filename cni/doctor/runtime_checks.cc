#include "cni/doctor/runtime_checks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cni/protocol/agent_query.h"
#include "cni/protocol/agent_socket.h"

namespace kuryr::cni::doctor {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kOwnType = "kuryr-cni";
constexpr const char* kSubject = "network configuration";

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

json FirstPlugin(const fs::path& file) {
  json configuration = ParseJson(ReadFile(file, FileOwner::kAnybody).value_or(""));
  const auto plugins = configuration.find("plugins");
  if (plugins == configuration.end()) return configuration;
  return plugins->is_array() && !plugins->empty() ? plugins->front() : json::object();
}

/// Whether `type` is this program under another name, as `ovs` in place of ovs-cni.
bool IsOwnProgram(const fs::path& folder, const std::string& type) {
  std::error_code error;
  return !type.empty() && type.find('/') == std::string::npos &&
         fs::equivalent(folder / type, folder / kOwnType, error);
}

Finding CheckConfiguration(const RuntimeFolders& folders, bool& is_standalone) {
  const auto file = FirstConfiguration(folders.conf_dir);
  if (!file) {
    return {kSubject, Verdict::kBad, "there is none in " + folders.conf_dir.string(),
            "put etc/10-kuryr.conflist there: the node is not ready without"};
  }
  try {
    const json plugin = FirstPlugin(*file);
    const std::string type = StringAt(plugin, "type");
    const std::string found = Printable(file->string()) + " has type " + Printable(type);
    const bool renamed = type != kOwnType && IsOwnProgram(folders.bin_dir, type);
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
            "mend or remove the file"};
  }
}

Finding CheckProgram(const fs::path& folder) {
  const fs::path program = folder / kOwnType;
  if (::access(program.c_str(), X_OK) == 0)
    return {"program", Verdict::kGood, program.string() + " can be executed", ""};
  return {"program", Verdict::kBad,
          program.string() + ": " + std::generic_category().message(errno),
          "copy kuryr-cni there, mode 0755"};
}

}  // namespace

Runtime CheckRuntime(const RuntimeFolders& folders) {
  Runtime runtime;
  runtime.findings = {CheckConfiguration(folders, runtime.is_standalone),
                      CheckProgram(folders.bin_dir)};
  return runtime;
}

bool HasAgent(const Config& config) {
  std::error_code error;
  return config.use_agent == UseAgent::kAlways ||
         (config.use_agent == UseAgent::kAuto && fs::exists(config.agent_socket, error));
}

Finding CheckAgent(const Config& config) {
  const std::string subject = "kuryr-daemon";
  if (!HasAgent(config)) return {subject, Verdict::kGood, "none: kuryr-cni works alone", ""};
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
