#include "base/chassis_mark.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/names.h"

namespace kuryr {
namespace {

constexpr std::string_view kCluster = "kuryr-cluster=";
constexpr std::string_view kNode = "kuryr-node=";
constexpr std::string_view kMachine = "kuryr-machine=";

}  // namespace

std::string ChassisMark::ToString() const {
  std::string text;
  text.append(kCluster).append(cluster).append(",").append(kNode).append(node);
  if (!machine.empty()) text.append(",").append(kMachine).append(machine);
  return text;
}

std::optional<ChassisMark> ChassisMark::Parse(std::string_view options) {
  ChassisMark mark;
  const std::array<std::pair<std::string_view, std::string*>, 3> parts = {
      {{kCluster, &mark.cluster}, {kNode, &mark.node}, {kMachine, &mark.machine}}};
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    for (const auto& [key, value] : parts)
      if (option.starts_with(key)) *value = option.substr(key.size());
    options.remove_prefix(std::min(options.size(), option.size() + 1));
  }
  if (mark.cluster.empty() || !IsDnsName(mark.node)) return std::nullopt;
  return mark;
}

std::string CheckedMachine(const std::string& machine) {
  constexpr size_t kMost = 64;
  const bool is_plain = std::all_of(machine.begin(), machine.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
  return is_plain && machine.size() <= kMost ? machine : "";
}

}  // namespace kuryr
