#include "cni/runtime/conflist.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cni/protocol/version.h"

namespace kuryr::cni {
namespace {

using nlohmann::ordered_json;

constexpr int kIndent = 2;

/// An ordered one keeps the operator's order of members.
ordered_json Parse(const std::string& conflist) {
  return ordered_json::parse(conflist, nullptr, false);
}

std::string Text(const ordered_json& list) { return list.dump(kIndent) + "\n"; }

std::string Newest(const std::vector<std::string>& versions) {
  return *std::max_element(versions.begin(), versions.end(), [](const auto& one, const auto& two) {
    return ParseVersion(one) < ParseVersion(two);
  });
}

bool AllKnow(const std::vector<PluginVersions>& plugins, const std::string& version) {
  return std::all_of(plugins.begin(), plugins.end(),
                     [&](const PluginVersions& plugin) { return plugin.Knows(version); });
}

/// For a list that offers nothing that all plugins know.
std::string NewestOf(const std::vector<PluginVersions>& plugins) {
  for (auto version = kSupportedVersions.rbegin(); version != kSupportedVersions.rend(); ++version)
    if (AllKnow(plugins, std::string(*version))) return std::string(*version);
  throw std::runtime_error("its plugins know no version of CNI in common");
}

}  // namespace

std::string WithPortmap(const std::string& conflist) {
  auto list = Parse(conflist);
  if (!list.is_object() || !list.contains("plugins")) return conflist;
  auto& plugins = list["plugins"];
  if (!plugins.is_array() || plugins.size() != 1) return conflist;
  plugins.push_back(
      {{"type", "portmap"}, {"snat", true}, {"capabilities", {{"portMappings", true}}}});
  return Text(list);
}

std::vector<std::string> OfferedVersions(const ordered_json& list) {
  std::vector<std::string> offered;
  if (!list.is_object()) return offered;
  const auto take = [&](const ordered_json& version) {
    if (version.is_string()) offered.push_back(version.get<std::string>());
  };
  if (list.contains("cniVersions") && list["cniVersions"].is_array())
    std::for_each(list["cniVersions"].begin(), list["cniVersions"].end(), take);
  else if (list.contains("cniVersion"))
    take(list["cniVersion"]);
  return offered;
}

std::vector<std::string> CommonVersions(const ordered_json& list,
                                        const std::vector<PluginVersions>& plugins) {
  std::vector<std::string> common = OfferedVersions(list);
  std::erase_if(common, [&](const std::string& version) { return !AllKnow(plugins, version); });
  return common;
}

std::string WithKnownVersions(const std::string& conflist,
                              const std::vector<std::filesystem::path>& folders) {
  auto list = Parse(conflist);
  const auto offered = OfferedVersions(list);
  const auto plugins = AskVersions(list, folders);
  auto common = CommonVersions(list, plugins);
  if (common == offered) return conflist;
  if (common.empty()) common.push_back(NewestOf(plugins));
  if (list.contains("cniVersions")) list["cniVersions"] = common;
  const std::string first = list.contains("cniVersion") && list["cniVersion"].is_string()
                                ? list["cniVersion"].get<std::string>()
                                : "";
  if (!first.empty() && std::find(common.begin(), common.end(), first) == common.end())
    list["cniVersion"] = Newest(common);
  return Text(list);
}

}  // namespace kuryr::cni
