#include "vif/pod_vifs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "vif/decode.h"
#include "vif/envelope.h"
#include "vif/path.h"
#include "vif/rules.h"

namespace kuryr::vif {
namespace {

using nlohmann::json;

/// nullptr if `object` is no object, has no such member, or has null there. (The API server omits
/// empty members, and some clients write null for them.)
const json* Find(const json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto& members = object.get_ref<const json::object_t&>();
  const auto found = members.find(key);
  return found == members.end() || found->second.is_null() ? nullptr : &found->second;
}

void CheckIfname(const std::string& ifname, const Path& parent) {
  if (!IsLinkName(ifname))
    parent.Refuse(json(ifname), std::string(kInterfaceName.expected) + " as every key");
}

/// Puts the default VIF first and sorts the others by name. Names are unique.
std::vector<PodVif> Ordered(std::vector<PodVif> vifs) {
  std::sort(vifs.begin(), vifs.end(), [](const PodVif& a, const PodVif& b) {
    return a.is_default != b.is_default ? a.is_default : a.ifname < b.ifname;
  });
  return vifs;
}

/// Marks the default VIF if the container marks none: "eth0", else the first by name.
void MarkDefault(std::vector<PodVif>& vifs) {
  const auto named = std::find_if(vifs.begin(), vifs.end(),
                                  [](const PodVif& vif) { return vif.ifname == kDefaultIfname; });
  const auto chosen =
      named != vifs.end()
          ? named
          : std::min_element(vifs.begin(), vifs.end(),
                             [](const PodVif& a, const PodVif& b) { return a.ifname < b.ifname; });
  if (chosen != vifs.end()) chosen->is_default = true;
}

std::vector<PodVif> FromPodState(const json& primitive, const Path& path) {
  PodState state;
  DecodeInto(primitive, path, state);
  if (!state.default_vif.has_value())
    Path(path, "default_vif").Refuse("is missing, expected a VIF");
  std::vector<PodVif> vifs;
  vifs.reserve(1 + (state.additional_vifs.has_value() ? state.additional_vifs->size() : 0));
  vifs.push_back({std::string(kDefaultIfname), true, std::move(*state.default_vif)});
  if (!state.additional_vifs.has_value()) return vifs;
  for (auto& [ifname, vif] : *state.additional_vifs) {
    if (ifname == kDefaultIfname) {
      const Path additional(path, "additional_vifs");
      Path(additional, ifname).Refuse("is the name of default_vif");
    }
    vifs.push_back({ifname, false, std::move(vif)});
  }
  return vifs;
}

std::vector<PodVif> FromMap(const json& map, const Path& path) {
  std::vector<PodVif> vifs;
  vifs.reserve(map.size());
  for (const auto& [ifname, vif] : map.get_ref<const json::object_t&>()) {
    CheckIfname(ifname, path);
    PodVif& entry = vifs.emplace_back();
    entry.ifname = ifname;
    DecodeInto(vif, Path(path, ifname), entry.vif);
  }
  MarkDefault(vifs);
  return Ordered(std::move(vifs));
}

std::vector<PodVif> FromAnnotation(const json& content, const Path& path) {
  if (!content.is_object()) path.Refuse(content, "a VIF, a map of VIFs or a PodState");
  const json* name = Find(content, EnvelopeKeys::kName);
  if (name == nullptr && Find(content, EnvelopeKeys::kData) == nullptr)
    return FromMap(content, path);
  if (name != nullptr && *name == "PodState") return FromPodState(content, path);
  std::vector<PodVif> vifs(1);
  vifs[0].ifname = kDefaultIfname;
  vifs[0].is_default = true;
  DecodeInto(content, path, vifs[0].vif);
  return vifs;
}

bool DefaultFlag(const json& entry, const Path& path) {
  const json* flag = Find(entry, "default");
  if (flag == nullptr) return false;
  if (!flag->is_boolean()) Path(path, "default").Refuse(*flag, "true or false");
  return flag->get<bool>();
}

std::vector<PodVif> FromKuryrPortVifs(const json& map, const Path& path) {
  if (!map.is_object()) path.Refuse(map, "an object of VIFs by interface name");
  std::vector<PodVif> vifs;
  vifs.reserve(map.size());
  bool has_default = false;
  for (const auto& [ifname, entry] : map.get_ref<const json::object_t&>()) {
    CheckIfname(ifname, path);
    const Path here(path, ifname);
    if (!entry.is_object()) here.Refuse(entry, "an object with default and vif");
    PodVif& vif = vifs.emplace_back();
    vif.ifname = ifname;
    vif.is_default = DefaultFlag(entry, here);
    if (vif.is_default && std::exchange(has_default, true))
      Path(here, "default").Refuse("is true, but another VIF is the default one already");
    const Path primitive(here, "vif");
    const json* found = Find(entry, "vif");
    if (found == nullptr) primitive.Refuse("is missing, expected a VIF");
    DecodeInto(*found, primitive, vif.vif);
  }
  if (!has_default) MarkDefault(vifs);
  return Ordered(std::move(vifs));
}

std::optional<std::vector<PodVif>> OfKuryrPort(const json& port, const Path& root) {
  for (const char* const part : {"status", "spec"}) {
    const json* parent = Find(port, part);
    const json* vifs = parent == nullptr ? nullptr : Find(*parent, "vifs");
    if (vifs == nullptr || vifs->empty()) continue;
    const Path here(root, part);
    return FromKuryrPortVifs(*vifs, Path(here, "vifs"));
  }
  return std::nullopt;
}

std::optional<std::vector<PodVif>> OfPod(const json& pod, const Path& root) {
  const json* metadata = Find(pod, "metadata");
  const json* annotations = metadata == nullptr ? nullptr : Find(*metadata, "annotations");
  const json* annotation = annotations == nullptr ? nullptr : Find(*annotations, kVifAnnotation);
  if (annotation == nullptr) return std::nullopt;
  const Path in_metadata(root, "metadata");
  const Path in_annotations(in_metadata, "annotations");
  const Path here(in_annotations, kVifAnnotation);
  if (!annotation->is_string()) here.Refuse(*annotation, "a string");
  auto vifs = DecodeAnnotation(annotation->get_ref<const std::string&>(), here.ToString());
  if (vifs.empty()) return std::nullopt;
  return vifs;
}

}  // namespace

bool IsKuryrPort(const json& object) {
  const std::string dollar = "$";
  const Path root(dollar);
  if (!object.is_object()) root.Refuse(object, "a Pod or a KuryrPort");
  const json* kind = Find(object, "kind");
  if (kind == nullptr) {
    const json* spec = Find(object, "spec");
    return spec != nullptr && Find(*spec, "podUid") != nullptr;
  }
  if (*kind == "KuryrPort") return true;
  if (*kind == "Pod") return false;
  Path(root, "kind").Refuse(*kind, "\"Pod\" or \"KuryrPort\"");
}

std::string InterfacesOf(const std::vector<PodVif>& vifs) {
  std::map<std::string, std::string> ids;
  for (const PodVif& vif : vifs) ids.emplace(vif.ifname, Common(vif.vif).id.value_or(""));
  std::string list;
  for (const auto& [ifname, id] : ids)
    list.append(list.empty() ? "" : ",").append(ifname).append("=").append(id);
  return list;
}

bool IsActive(const PodVif& vif) { return Common(vif.vif).active.value_or(true); }

std::optional<std::vector<PodVif>> VifsOf(const json& object) {
  const std::string dollar = "$";
  const Path root(dollar);
  return IsKuryrPort(object) ? OfKuryrPort(object, root) : OfPod(object, root);
}

std::vector<PodVif> DecodeAnnotation(std::string_view text, const std::string& path) {
  return FromAnnotation(ParseJson(text, {.max_bytes = kLargestPlan}, path), Path(path));
}

std::string EncodeAnnotation(const std::vector<PodVif>& vifs) {
  PodState state;
  auto& additional = state.additional_vifs.emplace();
  for (const PodVif& vif : vifs) {
    if (vif.is_default) {
      state.default_vif = vif.vif;
    } else {
      additional.emplace(vif.ifname, vif.vif);
    }
  }
  return EncodePodState(state, Changes::kOmit).dump();
}

}  // namespace kuryr::vif
