#include "cni/runtime/plugin_versions.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "base/deadline.h"
#include "cni/protocol/version.h"
#include "cni/standalone/child_process.h"

namespace kuryr::cni {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::seconds kVersionTime{5};

std::string TypeOf(const nlohmann::ordered_json& plugin) {
  if (!plugin.is_object() || !plugin.contains("type")) return {};
  const auto& type = plugin["type"];
  return type.is_string() ? type.get<std::string>() : std::string();
}

std::set<std::string> TypesOf(const nlohmann::ordered_json& list) {
  std::set<std::string> types;
  if (!list.is_object() || !list.contains("plugins")) return types;
  for (const auto& plugin : list["plugins"]) {
    types.insert(TypeOf(plugin));
    if (plugin.is_object() && plugin.contains("ipam")) types.insert(TypeOf(plugin["ipam"]));
  }
  types.erase("");
  types.erase("kuryr-cni");
  return types;
}

fs::path FindProgram(const std::string& type, const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    std::error_code unknown;
    if (fs::is_regular_file(folder / type, unknown)) return folder / type;
  }
  return {};
}

std::vector<std::string> Ask(const fs::path& program) {
  const json question = {{"cniVersion", kSupportedVersions.back()}};
  const ChildOutput answer = RunChild(program, {"CNI_COMMAND=VERSION", "PATH=/usr/sbin:/usr/bin"},
                                      question.dump(), Deadline::After(kVersionTime));
  const json told = json::parse(answer.out, nullptr, false);
  if (answer.status != 0 || !told.is_object() || !told.contains("supportedVersions"))
    throw std::runtime_error("VERSION ended with status " + std::to_string(answer.status));
  return told["supportedVersions"].get<std::vector<std::string>>();
}

}  // namespace

bool PluginVersions::Knows(const std::string& version) const {
  const auto parsed = ParseVersion(version);
  if (!problem.empty()) return parsed && *parsed <= SpecVersion::k100;
  return std::find(versions.begin(), versions.end(), version) != versions.end();
}

std::vector<PluginVersions> AskVersions(const nlohmann::ordered_json& list,
                                        const std::vector<fs::path>& folders) {
  std::vector<PluginVersions> asked;
  for (const std::string& type : TypesOf(list)) {
    // As libcni: a type is a name in a folder, and no path.
    PluginVersions plugin = {.type = type, .problem = "there is no such program"};
    if (type.find('/') == std::string::npos) plugin.program = FindProgram(type, folders);
    try {
      if (!plugin.program.empty()) plugin.versions = Ask(plugin.program);
      if (!plugin.program.empty()) plugin.problem.clear();
    } catch (const std::exception& e) {
      plugin.problem = e.what();
    }
    asked.push_back(std::move(plugin));
  }
  return asked;
}

}  // namespace kuryr::cni
