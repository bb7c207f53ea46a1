#include "cni/plugin/conflist.h"

#include <nlohmann/json.hpp>

namespace kuryr::cni {

std::string WithPortmap(const std::string& conflist) {
  constexpr int kIndent = 2;
  // An ordered one keeps the operator's order of members.
  auto list = nlohmann::ordered_json::parse(conflist, nullptr, false);
  if (!list.is_object() || !list.contains("plugins")) return conflist;
  auto& plugins = list["plugins"];
  if (!plugins.is_array() || plugins.size() != 1) return conflist;
  plugins.push_back(
      {{"type", "portmap"}, {"snat", true}, {"capabilities", {{"portMappings", true}}}});
  return list.dump(kIndent) + "\n";
}

}  // namespace kuryr::cni
