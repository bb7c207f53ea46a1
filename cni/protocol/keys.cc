#include "cni/protocol/keys.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cni/protocol/field.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

using Names = std::span<const std::string_view>;

/// Members at the top: CNI's, ovs-cni's, ours, and those of CNI's plugin bridge that we obey.
constexpr std::string_view kTop[] = {"cniVersion",
                                     "name",
                                     "type",
                                     "capabilities",
                                     "ipam",
                                     "dns",
                                     "args",
                                     "runtimeConfig",
                                     "prevResult",
                                     "cni.dev/valid-attachments",
                                     "cni.dev/attachments",
                                     "isGateway",
                                     "isDefaultGateway",
                                     "ipMasq",
                                     "hairpinMode",
                                     "promiscMode",
                                     "mtu",
                                     "vlan",
                                     "bridge",
                                     "trunk",
                                     "deviceID",
                                     "ofport_request",
                                     "interface_type",
                                     "configuration_path",
                                     "socket_file",
                                     "link_state_check_retries",
                                     "link_state_check_interval",
                                     "kuryr",
                                     "kuryr_conf",
                                     "debug",
                                     "vlan_mode",
                                     "bandwidth",
                                     "mirrors"};

/// Members that libcni and Multus add, even where the author wrote another spelling.
constexpr std::string_view kAdded[] = {"cniVersion", "name", "prevResult", "runtimeConfig",
                                       "deviceID"};

constexpr std::string_view kIpam[] = {"type"};
constexpr std::string_view kDns[] = {"nameservers", "domain", "search", "options"};
constexpr std::string_view kArgs[] = {"cni"};
constexpr std::string_view kAttachment[] = {"containerID", "ifname"};
constexpr std::string_view kTrunk[] = {"id", "minID", "maxID"};
constexpr std::string_view kKuryr[] = {"vif", "bridge", "vlan", "uplink"};
constexpr std::string_view kBandwidth[] = {"ingressRate", "ingressBurst", "egressRate",
                                           "egressBurst"};
constexpr std::string_view kMirror[] = {"name", "ingress", "egress"};

struct KeySection {
  std::string_view name;  ///< of an object, or of an array of objects
  Names members;
};

constexpr KeySection kSections[] = {{"ipam", kIpam},
                                    {"dns", kDns},
                                    {"args", kArgs},
                                    {"cni.dev/valid-attachments", kAttachment},
                                    {"cni.dev/attachments", kAttachment},
                                    {"trunk", kTrunk},
                                    {"kuryr", kKuryr},
                                    {"bandwidth", kBandwidth},
                                    {"mirrors", kMirror}};

bool Has(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The name that equals `key` without regard to case; empty without one.
std::string_view NameLike(Names names, const std::string& key) {
  const std::string lower = Lower(key);
  const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
    return Lower(std::string(name)) == lower;
  });
  return found == names.end() ? std::string_view() : *found;
}

/// Keys that are another spelling of one of `names`.
std::vector<std::string> OtherSpellings(const json& object, Names names) {
  std::vector<std::string> others;
  for (const auto& [key, value] : object.items()) {
    const std::string_view name = NameLike(names, key);
    if (!name.empty() && name != key) others.push_back(key);
  }
  return others;
}

void NameKeysOf(json& object, Names names) {
  if (!object.is_object()) return;
  for (const std::string& key : OtherSpellings(object, names)) {
    const std::string name(NameLike(names, key));
    const bool is_there = object.contains(name);
    if (is_there && !Has(kAdded, name)) continue;
    if (!is_there) object[name] = std::move(object[key]);
    object.erase(key);
  }
}

void RequireOneSpellingOf(const json& object, Names names, const std::string& where) {
  if (!object.is_object()) return;
  for (const std::string& key : OtherSpellings(object, names)) {
    const std::string name(NameLike(names, key));
    std::string why = "stands there twice, as ";
    why.append(name).append(" and as ").append(key);
    RefuseField(where + name, why);
  }
}

/// Calls `visit(object, field)` for each object of a section.
template <typename Json, typename Visit>
void VisitSection(Json& config, std::string_view name, const Visit& visit) {
  const std::string field(name);
  const auto found = config.find(field);
  if (found == config.end()) return;
  if (!found->is_array()) return visit(*found, field);
  size_t number = 0;
  for (auto& element : *found) visit(element, field + "[" + std::to_string(number++) + "]");
}

}  // namespace

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

void NameKeys(json& config) {
  NameKeysOf(config, kTop);
  for (const KeySection& section : kSections) {
    VisitSection(config, section.name,
                 [&](json& object, const std::string&) { NameKeysOf(object, section.members); });
  }
}

void RequireOneSpelling(const json& config) {
  RequireOneSpellingOf(config, kTop, "");
  for (const KeySection& section : kSections) {
    VisitSection(config, section.name, [&](const json& object, const std::string& field) {
      RequireOneSpellingOf(object, section.members, field + ".");
    });
  }
}

void RequireKnownKeys(const json& object, std::string_view section, const std::string& field) {
  const auto* own = std::find_if(std::begin(kSections), std::end(kSections),
                                 [&](const KeySection& known) { return known.name == section; });
  for (const auto& [key, value] : object.items()) {
    if (Has(own->members, key)) continue;
    std::string all;
    for (const std::string_view name : own->members)
      all.append(all.empty() ? "" : ", ").append(name);
    RefuseField(field, "has \"" + Printable(key) + "\", which is not known; it may have " + all);
  }
}

}  // namespace kuryr::cni
