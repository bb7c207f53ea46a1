#include "cni/protocol/result.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cni/protocol/result_form.h"

namespace kuryr::cni {
namespace {

using Json = nlohmann::ordered_json;
using nlohmann::json;

Json EncodeDns(const Dns& dns) {
  Json object = Json::object();
  if (!dns.nameservers.empty()) object["nameservers"] = dns.nameservers;
  if (!dns.domain.empty()) object["domain"] = dns.domain;
  if (!dns.search.empty()) object["search"] = dns.search;
  if (!dns.options.empty()) object["options"] = dns.options;
  return object;
}

std::vector<std::string> Strings(const json& object, const char* name, const std::string& path) {
  std::vector<std::string> strings;
  ForEachOf(object, name, path, [&](const json& element, const std::string& element_path) {
    if (!element.is_string())
      throw ParseError(element_path,
                       std::string("is a JSON ") + element.type_name() + ", expected a string");
    strings.push_back(element.get<std::string>());
  });
  return strings;
}

SpecVersion VersionOf(const json& result, SpecVersion fallback, const std::string& path) {
  const std::string text = StringOf(result, "cniVersion", path);
  if (text.empty()) return fallback;
  const auto version = ParseVersion(text);
  if (!version)
    throw ParseError(path + ".cniVersion", "\"" + Printable(text) + "\" is not supported");
  return *version;
}

Json Encode(const Result& result, SpecVersion version) {
  if (version < SpecVersion::k030) return EncodeByFamily(result);
  if (version < SpecVersion::k100) return EncodeWithIpVersion(result);
  return version < SpecVersion::k110 ? EncodeLists(result) : EncodeLists110(result);
}

/// Whether both versions have the same form of a result.
bool SameForm(SpecVersion a, SpecVersion b) {
  return (a < SpecVersion::k030) == (b < SpecVersion::k030) &&
         (a < SpecVersion::k100) == (b < SpecVersion::k100) &&
         (a < SpecVersion::k110) == (b < SpecVersion::k110);
}

/// Up to 0.2.0 a family has one entry: the one in `all` stays.
void Append(Json& all, const Json& added) {
  for (const auto& [name, value] : added.items()) {
    Json& member = all[name];
    if (member.empty()) {
      member = value;
    } else if (member.is_array()) {
      member.insert(member.end(), value.begin(), value.end());
    } else if (name == "dns") {
      // The dns there has no known member, or AppendResult would have dropped ours.
      member.update(value);
    }
  }
}

}  // namespace

Json EncodeResult(const Result& result, SpecVersion version) {
  Json object = {{"cniVersion", ToString(version)}};
  object.update(Encode(result, version));
  if (!result.dns.empty()) object["dns"] = EncodeDns(result.dns);
  return object;
}

Result DecodeResult(const json& object, SpecVersion fallback, const std::string& path) {
  const SpecVersion version = VersionOf(object, fallback, path);
  Result result =
      version < SpecVersion::k030 ? DecodeByFamily(object, path) : DecodeLists(object, path);
  if (const auto* dns = MemberOf(object, "dns", path)) result.dns = DecodeDns(*dns, path + ".dns");
  return result;
}

Json AppendResult(const json& previous, const Result& decoded, const Result& added,
                  SpecVersion version) {
  const bool is_same = SameForm(VersionOf(previous, version, "$.prevResult"), version);
  Json all = is_same ? Json(previous) : EncodeResult(decoded, version);
  all["cniVersion"] = ToString(version);
  Result behind = added;
  for (ResultIp& ip : behind.ips) {
    if (ip.interface) *ip.interface += decoded.interfaces.size();
  }
  // The previous plugin has given the runtime a resolver.
  if (!decoded.dns.empty()) behind.dns = {};
  const bool nothing_told = version < SpecVersion::k030 && behind.ips.empty();
  if (!nothing_told) Append(all, EncodeResult(behind, version));
  return all;
}

Dns DecodeDns(const json& object, const std::string& path) {
  return {.nameservers = Strings(object, "nameservers", path),
          .domain = StringOf(object, "domain", path),
          .search = Strings(object, "search", path),
          .options = Strings(object, "options", path)};
}

}  // namespace kuryr::cni
