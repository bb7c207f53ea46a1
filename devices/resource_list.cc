#include "devices/resource_list.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/names.h"
#include "config/config_file.h"
#include "vif/pci_address.h"

namespace kuryr::devices {
namespace {

using nlohmann::json;

constexpr size_t kMostBytes = size_t{1} << 20;
constexpr std::string_view kWhitespace = " \t\r\n";  // RFC 8259

char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return LowerCase(c); });
  return text;
}

[[noreturn]] void RefuseValue(const std::string& path, const std::string& text,
                              const std::string& expected) {
  throw ParseError(path, "\"" + Printable(text) + "\"; expected " + expected);
}

void RequireObject(const json& value, const std::string& path) {
  if (!value.is_object())
    throw ParseError(path, std::string(value.type_name()) + "; expected an object");
}

std::string StringOf(const json& value, const std::string& path) {
  if (!value.is_string())
    throw ParseError(path, std::string(value.type_name()) + "; expected a text");
  return value.get<std::string>();
}

/// An object's fields by name, in upper or lower case; null counts as absent.
class Fields {
 public:
  Fields(const json& object, std::string path) : object_(object), path_(std::move(path)) {
    RequireObject(object, path_);
  }

  /// Null if the field is absent.
  [[nodiscard]] const json* Find(const char* name) {
    known_.insert(LowerCase(name));
    for (const auto& [key, value] : object_.items()) {
      if (LowerCase(key) == LowerCase(name)) return value.is_null() ? nullptr : &value;
    }
    return nullptr;
  }
  [[nodiscard]] std::string PathOf(const char* name) const { return path_ + PathStep(name); }

  void Take(const char* name, std::string& target) {
    if (const json* value = Find(name)) target = StringOf(*value, PathOf(name));
  }
  void Take(const char* name, bool& target) {
    const json* value = Find(name);
    if (value == nullptr) return;
    if (!value->is_boolean())
      throw ParseError(PathOf(name), std::string(value->type_name()) + "; expected true or false");
    target = value->get<bool>();
  }
  /// `parse`: (text, path of it) → element.
  template <typename Element, typename Parse>
  void TakeList(const char* name, std::vector<Element>& target, Parse parse) {
    const json* list = Find(name);
    if (list == nullptr) return;
    if (!list->is_array())
      throw ParseError(PathOf(name), std::string(list->type_name()) + "; expected a list of texts");
    for (size_t i = 0; i < list->size(); ++i) {
      const std::string path = PathOf(name) + "[" + std::to_string(i) + "]";
      target.push_back(parse(StringOf((*list)[i], path), path));
    }
  }
  void TakeList(const char* name, std::vector<std::string>& target) {
    TakeList(name, target, [](std::string text, const std::string& /*path*/) { return text; });
  }

  /// The fields that were not looked up.
  [[nodiscard]] std::vector<std::string> Others() const {
    std::vector<std::string> others;
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(LowerCase(key))) others.push_back(key);
    }
    return others;
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  const json& object_;
  const std::string path_;
  std::set<std::string> known_;
};

std::string ParseHex(const std::string& text, const std::string& path) {
  const bool is_hex =
      text.size() == 4 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (LowerCase(c) >= 'a' && LowerCase(c) <= 'f');
      });
  if (!is_hex) RefuseValue(path, text, "four hexadecimal digits, as \"8086\"");
  return LowerCase(text);
}

uint16_t ParsePkey(const std::string& text, const std::string& path) {
  const std::string_view digits = std::string_view(text).substr(text.starts_with("0x") ? 2 : 0);
  uint16_t pkey = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pkey, 16);
  if (error != std::errc() || end != digits.data() + digits.size())
    RefuseValue(path, text, "a partition key, as \"0x8001\"");
  return pkey;
}

std::string ParsePciAddress(const std::string& text, const std::string& path) {
  const auto address = vif::PciAddress::Parse(text);
  if (!address) RefuseValue(path, text, "a PCI address, as \"0000:03:10.1\"");
  return address->ToString();
}

FunctionSet ParseFunctions(const std::string& text, const std::string& path) {
  auto functions = FunctionSet::Parse(text);
  if (!functions) RefuseValue(path, text, "NAME, or NAME# and numbers, as \"ens1f0#0,2-7\"");
  return *std::move(functions);
}

FunctionSet ParseRootDevice(const std::string& text, const std::string& path) {
  FunctionSet functions = ParseFunctions(text, path);
  functions.pf = ParsePciAddress(functions.pf, path);
  return functions;
}

std::string ParseLinkType(const std::string& text, const std::string& path) {
  if (text != "ether" && text != "infiniband") RefuseValue(path, text, "ether or infiniband");
  return text;
}

std::optional<VdpaType> ParseVdpaType(const std::string& text, const std::string& path) {
  if (text.empty()) return std::nullopt;
  if (text == "vhost") return VdpaType::kVhost;
  if (text == "virtio") return VdpaType::kVirtio;
  RefuseValue(path, text, "vhost or virtio");
}

void TakeNetworkSelectors(Fields& fields, Selector& selector) {
  fields.TakeList("pfNames", selector.pf_names, ParseFunctions);
  fields.TakeList("rootDevices", selector.root_devices, ParseRootDevice);
  fields.TakeList("linkTypes", selector.link_types, ParseLinkType);
  fields.Take("isRdma", selector.is_rdma);
}

void TakeSelectorsOfFunctions(Fields& fields, Selector& selector) {
  std::string vdpa_type;
  fields.TakeList("ddpProfiles", selector.ddp_profiles);
  fields.TakeList("pKeys", selector.pkeys, ParsePkey);
  fields.Take("needVhostNet", selector.need_vhost_net);
  fields.Take("vdpaType", vdpa_type);
  selector.vdpa_type = ParseVdpaType(vdpa_type, fields.PathOf("vdpaType"));
  if (selector.vdpa_type && selector.is_rdma)
    throw ParseError(fields.path(), "vdpaType and isRdma exclude each other");
}

Selector ParseSelector(const json& object, const std::string& path, DeviceType type) {
  Fields fields(object, path);
  Selector selector;
  fields.TakeList("vendors", selector.vendors, ParseHex);
  fields.TakeList("devices", selector.codes, ParseHex);
  fields.TakeList("drivers", selector.drivers);
  fields.TakeList("acpiIndexes", selector.acpi_indexes);
  if (type != DeviceType::kAuxNetDevice)
    fields.TakeList("pciAddresses", selector.pci_addresses, ParsePciAddress);
  if (type != DeviceType::kAccelerator) TakeNetworkSelectors(fields, selector);
  if (type == DeviceType::kNetDevice) TakeSelectorsOfFunctions(fields, selector);
  if (type == DeviceType::kAuxNetDevice) fields.TakeList("auxTypes", selector.aux_types);
  if (const auto others = fields.Others(); !others.empty()) {
    throw ParseError(path + PathStep(others.front()),
                     "no selector of this deviceType; without it more devices would match");
  }
  return selector;
}

DeviceType ParseType(const std::string& text, const std::string& path) {
  if (text.empty() || text == "netDevice") return DeviceType::kNetDevice;
  if (text == "accelerator") return DeviceType::kAccelerator;
  if (text == "auxNetDevice") return DeviceType::kAuxNetDevice;
  RefuseValue(path, text, "netDevice, accelerator or auxNetDevice");
}

std::vector<Selector> ParseSelectors(Fields& fields, DeviceType type) {
  std::vector<Selector> selectors;
  const json* found = fields.Find("selectors");
  if (found == nullptr) return selectors;
  const std::string path = fields.PathOf("selectors");
  if (!found->is_array()) return {ParseSelector(*found, path, type)};
  for (size_t i = 0; i < found->size(); ++i)
    selectors.push_back(ParseSelector((*found)[i], path + "[" + std::to_string(i) + "]", type));
  return selectors;
}

std::map<std::string, AdditionalInfo> ParseAdditionalInfo(Fields& fields) {
  std::map<std::string, AdditionalInfo> info;
  const json* found = fields.Find("additionalInfo");
  if (found == nullptr) return info;
  const std::string path = fields.PathOf("additionalInfo");
  RequireObject(*found, path);
  for (const auto& [device, values] : found->items()) {
    const std::string of_device = path + PathStep(device);
    RequireObject(values, of_device);
    for (const auto& [name, value] : values.items())
      info[device][name] = StringOf(value, of_device + PathStep(name));
  }
  return info;
}

Resource ParseResource(const json& object, const std::string& path, const std::string& prefix) {
  Fields fields(object, path);
  Resource resource{.prefix = prefix};
  std::string type;
  fields.Take("resourceName", resource.name);
  if (!IsResourceName(resource.name))
    RefuseValue(fields.PathOf("resourceName"), resource.name, kResourceNameRule);
  try {
    fields.Take("resourcePrefix", resource.prefix);
    if (resource.prefix.empty()) resource.prefix = prefix;
    if (!IsDnsName(resource.prefix))
      RefuseValue(fields.PathOf("resourcePrefix"), resource.prefix, "a DNS name, as \"intel.com\"");
    fields.Take("deviceType", type);
    resource.type = ParseType(type, fields.PathOf("deviceType"));
    fields.Take("excludeTopology", resource.exclude_topology);
    resource.selectors = ParseSelectors(fields, resource.type);
    resource.additional_info = ParseAdditionalInfo(fields);
  } catch (const ParseError& e) {
    throw ParseError("resource " + resource.name + ": " + e.path(), e.reason());
  }
  for (const std::string& other : fields.Others()) {
    Log(LogLevel::kWarning, "unknown field of a resource is passed over",
        {{"resource", resource.FullName()}, {"field", path + PathStep(other)}});
  }
  return resource;
}

/// Replaces a comma behind the last element, which the documented examples have, by a space. So
/// offsets in errors stay correct.
std::string WithoutLastCommas(std::string_view text) {
  std::string without(text);
  size_t comma = std::string::npos;
  bool is_quoted = false;
  for (size_t at = 0; at < without.size(); ++at) {
    const char c = without[at];
    if (is_quoted && c == '\\') ++at;
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted || kWhitespace.find(c) != std::string_view::npos) continue;
    if ((c == ']' || c == '}') && comma != std::string::npos) without[comma] = ' ';
    comma = c == ',' ? at : std::string::npos;
  }
  return without;
}

std::vector<Resource> ParseList(std::string_view text, const std::string& prefix) {
  const json document = ParseJson(WithoutLastCommas(text));
  Fields fields(document, "$");
  const json* list = fields.Find("resourceList");
  if (list == nullptr || !list->is_array())
    throw ParseError("$.resourceList", "expected a list of resources");
  std::vector<Resource> resources;
  std::set<std::string> names;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string path = "$.resourceList[" + std::to_string(i) + "]";
    resources.push_back(ParseResource((*list)[i], path, prefix));
    if (!names.insert(resources.back().FullName()).second)
      throw ParseError(path + ".resourceName", resources.back().FullName() + " stands here twice");
  }
  return resources;
}

}  // namespace

std::vector<Resource> ParseResourceList(std::string_view text, const std::string& default_prefix,
                                        const std::string& where) {
  try {
    return ParseList(text, default_prefix);
  } catch (const ParseError& e) {
    Refuse(where, e.what());
  }
}

std::vector<Resource> ReadResourceList(const std::filesystem::path& file,
                                       const std::string& default_prefix) {
  std::ifstream stream(file);
  if (!stream) Refuse(file, "cannot be read: " + std::string(std::strerror(errno)));
  // One byte more than the limit, so that the parser refuses a larger file.
  std::string text(kMostBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  return ParseResourceList(text, default_prefix, file);
}

}  // namespace kuryr::devices
