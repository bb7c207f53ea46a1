#include "policy/multi_network_policy.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/annotation_text.h"
#include "base/error.h"
#include "base/json.h"
#include "base/names.h"

namespace kuryr::policy {
namespace {

constexpr size_t kMostText = size_t{16} << 10;  ///< bytes

[[noreturn]] void RefuseNetworks(const std::string& reason) {
  throw ParseError(std::string("$.metadata.annotations") + PathStep(kPolicyForAnnotation), reason);
}

/// The definition as NAMESPACE/NAME.
std::string DefinitionOf(const std::string& item, const std::string& name_space) {
  const size_t slash = item.find('/');
  const bool has_namespace = slash != std::string::npos;
  const std::string where = has_namespace ? Trimmed(item.substr(0, slash)) : name_space;
  const std::string name = has_namespace ? Trimmed(item.substr(slash + 1)) : item;
  if (!IsDnsName(where) || !IsDnsName(name))
    RefuseNetworks("names \"" + Printable(item) + "\"; expected NAME or NAMESPACE/NAME");
  return where + "/" + name;
}

std::vector<std::string> DefinitionsIn(const std::string& text, const std::string& name_space) {
  std::vector<std::string> items;
  if (text.size() <= kMostText) items = ListItems(text);
  if (items.empty() || items.size() > kMostPolicyNetworks)
    RefuseNetworks("expected 1 to " + std::to_string(kMostPolicyNetworks) +
                   " NetworkAttachmentDefinitions, separated by commas");
  for (std::string& item : items) item = DefinitionOf(item, name_space);
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  return items;
}

}  // namespace

NetworkPolicy DecodeMultiNetworkPolicy(const nlohmann::json& object,
                                       const std::string& name_space) {
  NetworkPolicy policy = DecodeNetworkPolicy(object);
  try {
    const nlohmann::json& annotations = MemberAt(MemberAt(object, "metadata"), "annotations");
    policy.definitions = DefinitionsIn(StringAt(annotations, kPolicyForAnnotation), name_space);
  } catch (const ParseError& e) {
    policy.definitions = {""};
    policy.problem = e.what();
  }
  return policy;
}

}  // namespace kuryr::policy
