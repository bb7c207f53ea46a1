#include "controller/plan/network_selection.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/annotation_text.h"
#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "controller/plan/plan_error.h"
#include "vif/pod_vifs.h"

namespace kuryr::controller {
namespace {

using nlohmann::json;

constexpr size_t kMostIps = 16;
constexpr const char* kIfnameRule =
    "1 to 15 printable characters, no '/', ':', '%' or blank, not \".\", \"..\", lo, eth0, all or "
    "default";

[[noreturn]] void RefuseText(const std::string& what) {
  throw PlanError(PlanError::Kind::kRefused,
                  std::string("annotation ") + kNetworksAnnotation + what);
}

/// An entry of the annotation and its number, counted from 1.
struct Entry {
  size_t number;
  NetworkSelection selection = {};

  [[noreturn]] void Refuse(const std::string& field, const std::string& what) const {
    RefuseText(", entry " + std::to_string(number) + ": " + field + " " + what);
  }
  [[noreturn]] void Refuse(const std::string& field, const std::string& found,
                           const std::string& expected) const {
    Refuse(field, "is \"" + Printable(found) + "\"; expected " + expected);
  }
};

Entry FromItem(const std::string& item, size_t number) {
  Entry entry{number};
  const size_t slash = item.find('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  const size_t at = item.rfind('@');
  const bool has_ifname = at != std::string::npos && at >= name;
  if (slash != std::string::npos) entry.selection.name_space = Trimmed(item.substr(0, slash));
  entry.selection.name = Trimmed(item.substr(name, has_ifname ? at - name : at));
  if (has_ifname) entry.selection.ifname = Trimmed(item.substr(at + 1));
  return entry;
}

/// The member; nullptr if it is missing or null, which Go clients write for a missing one.
const json* FindMember(const json& object, const char* key) {
  const auto member = object.find(key);
  return member == object.end() || member->is_null() ? nullptr : &*member;
}

std::string TextOf(const json& object, const char* key, const Entry& entry) {
  const json* text = FindMember(object, key);
  if (text == nullptr) return "";
  if (!text->is_string()) entry.Refuse(key, "is no string");
  return text->get<std::string>();
}

/// The addresses of a list; nullopt if there is no list.
std::optional<std::vector<IpAddress>> AddressesOf(const json& object, const char* key,
                                                  const Entry& entry) {
  const json* list = FindMember(object, key);
  if (list == nullptr) return std::nullopt;
  if (!list->is_array() || list->size() > kMostIps)
    entry.Refuse(key, "is no list of up to " + std::to_string(kMostIps) + " IP addresses");
  std::vector<IpAddress> addresses;
  for (const json& item : *list) {
    if (!item.is_string()) entry.Refuse(key, "holds something else than strings");
    const auto address = IpNetwork::Parse(item.get_ref<const std::string&>());
    if (!address)
      entry.Refuse(key, item.get<std::string>(), "IP addresses, with or without /LENGTH");
    addresses.push_back(address->address);
  }
  return addresses;
}

Entry FromObject(const json& object, size_t number) {
  Entry entry{number};
  NetworkSelection& selection = entry.selection;
  if (!object.is_object()) entry.Refuse("it", "is no object; expected {\"name\": NAME, ...}");
  selection.name = TextOf(object, "name", entry);
  selection.name_space = TextOf(object, "namespace", entry);
  selection.ifname = TextOf(object, "interface", entry);
  if (auto addresses = AddressesOf(object, "ips", entry)) {
    if (addresses->empty()) entry.Refuse("ips", "is empty; leave it out, or name an address");
    selection.addresses = std::move(*addresses);
  }
  selection.has_default_route = AddressesOf(object, "default-route", entry).has_value();
  selection.claim = TextOf(object, "ipam-claim-reference", entry);
  const std::string mac = TextOf(object, "mac", entry);
  if (mac.empty()) return entry;
  selection.mac = ParseInterfaceMac(mac);
  if (!selection.mac) entry.Refuse("mac", mac, "the MAC address of one interface");
  return entry;
}

std::vector<Entry> FromList(const std::string& text) {
  std::vector<Entry> entries;
  for (const std::string& item : ListItems(text))
    entries.push_back(FromItem(item, entries.size() + 1));
  return entries;
}

std::vector<Entry> FromJson(const std::string& text) {
  json list;
  try {
    list = ParseJson(text, {}, std::string("annotation ") + kNetworksAnnotation);
  } catch (const ParseError& e) {
    throw PlanError(PlanError::Kind::kRefused, e.what());
  }
  if (!list.is_array()) RefuseText(" is no JSON list; expected [{\"name\": NAME, ...}, ...]");
  std::vector<Entry> entries;
  for (const json& object : list) entries.push_back(FromObject(object, entries.size() + 1));
  return entries;
}

/// Whether the kernel accepts the name for a new interface. It replaces '%' by a number, and "all"
/// and "default" exist below /proc/sys/net/ipv4/conf.
bool IsFreeIfname(const std::string& name) {
  static const std::set<std::string_view> kTaken = {"lo", vif::kDefaultIfname, "all", "default"};
  return IsLinkName(name) && name.find('%') == std::string::npos && !kTaken.contains(name);
}

void Complete(Entry& entry, const std::string& pod_namespace) {
  constexpr const char* kDnsRule = "letters in lower case, digits, '-' and '.', at most 253";
  NetworkSelection& selection = entry.selection;
  if (selection.name_space.empty()) selection.name_space = pod_namespace;
  if (selection.ifname.empty()) selection.ifname = "net" + std::to_string(entry.number);
  if (!IsDnsName(selection.name)) entry.Refuse("name", selection.name, kDnsRule);
  if (!IsDnsName(selection.name_space)) entry.Refuse("namespace", selection.name_space, kDnsRule);
  if (!IsFreeIfname(selection.ifname)) entry.Refuse("interface", selection.ifname, kIfnameRule);
}

}  // namespace

std::vector<NetworkSelection> ParseNetworkSelections(const std::string& text,
                                                     const std::string& pod_namespace) {
  if (text.size() > kMostNetworksText)
    RefuseText(" is longer than " + std::to_string(kMostNetworksText) + " bytes");
  std::vector<Entry> entries =
      text.find_first_of("[{\"") == std::string::npos ? FromList(text) : FromJson(text);
  if (entries.size() > kMostNetworks)
    RefuseText(" has " + std::to_string(entries.size()) + " entries; expected at most " +
               std::to_string(kMostNetworks));
  std::vector<NetworkSelection> selections;
  std::set<std::string> ifnames;
  bool has_default_route = false;
  for (Entry& entry : entries) {
    Complete(entry, pod_namespace);
    if (!ifnames.insert(entry.selection.ifname).second)
      entry.Refuse("interface", "\"" + entry.selection.ifname + "\" is an earlier entry's already");
    if (entry.selection.has_default_route && std::exchange(has_default_route, true))
      entry.Refuse("default-route", "is an earlier entry's already; leave it in one of them");
    selections.push_back(std::move(entry.selection));
  }
  return selections;
}

}  // namespace kuryr::controller
