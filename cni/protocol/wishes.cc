#include "cni/protocol/wishes.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cni/protocol/field.h"
#include "cni/protocol/keys.h"
#include "cni/protocol/result_form.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

/// A copy with all keys in lower case: runtimes written in Go may send any case.
json WithLowerKeys(const json& value) {
  if (value.is_array()) {
    json array = json::array();
    for (const json& element : value) array.push_back(WithLowerKeys(element));
    return array;
  }
  if (!value.is_object()) return value;
  json object = json::object();
  for (const auto& [key, member] : value.items()) object[Lower(key)] = WithLowerKeys(member);
  return object;
}

/// The members that `names` (in lower case) has. Other members are not worth a copy.
json Known(const json& object, std::initializer_list<std::string_view> names) {
  json known = json::object();
  for (const auto& [key, member] : object.items()) {
    const std::string name = Lower(key);
    if (std::find(names.begin(), names.end(), name) != names.end())
      known[name] = WithLowerKeys(member);
  }
  return known;
}

MacAddress ParseMac(const std::string& field, const std::string& text) {
  const auto mac = MacAddress::Parse(text);
  if (!mac) RefuseField(field, "\"" + Printable(text) + "\" is no MAC address");
  if (!mac->IsUnicast()) RefuseField(field, "\"" + text + "\" is no unicast address");
  return *mac;
}

IpNetwork ParseIp(const std::string& field, const std::string& text) {
  const auto ip = IpNetwork::Parse(text);
  if (!ip) RefuseField(field, "\"" + Printable(text) + "\" is no ADDRESS or ADDRESS/LENGTH");
  return *ip;
}

void TakeMac(const json& object, const std::string& where, Wishes& wishes) {
  const auto text = Take<std::string>(object, where, "mac", "a string");
  if (!text.empty()) wishes.mac = ParseMac(where + "mac", text);
}

std::string ParseOvnPort(const std::string& field, const std::string& name) {
  constexpr size_t kLongest = 255;
  const bool plain =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (name.size() > kLongest || !plain)
    RefuseField(field, "\"" + Printable(name, kLongest) +
                           "\" is no logical port's name (255 printable characters, no blank)");
  return name;
}

const json* TakeArray(const json& object, const std::string& where, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return nullptr;
  if (!found->is_array())
    RefuseField(where + name,
                std::string("is a JSON ") + found->type_name() + ", expected an array");
  return &*found;
}

void TakeIps(const json& object, const std::string& where, Wishes& wishes) {
  const json* ips = TakeArray(object, where, "ips");
  if (ips == nullptr || ips->empty()) return;
  wishes.ips.clear();
  for (const json& ip : *ips) {
    if (!ip.is_string())
      RefuseField(where + "ips", "holds no string: " + Printable(ip.dump(-1, ' ', true)));
    wishes.ips.push_back(ParseIp(where + "ips", ip.get<std::string>()));
  }
}

/// Checks what portmap, a plugin behind us in the chain, will read.
void CheckPortMappings(const json& object, const std::string& where) {
  constexpr uint32_t kLastPort = 65535;
  const json* mappings = TakeArray(object, where, "portmappings");
  if (mappings == nullptr) return;
  const std::string field = where + "portMappings: ";
  for (const json& mapping : *mappings) {
    if (!mapping.is_object()) RefuseField(where + "portMappings", "holds no object");
    (void)TakeNumber(mapping, field, "hostport", 0, kLastPort);
    (void)TakeNumber(mapping, field, "containerport", 0, kLastPort);
    const auto protocol = Lower(Take<std::string>(mapping, field, "protocol", "a string", "tcp"));
    if (protocol != "tcp" && protocol != "udp" && protocol != "sctp")
      RefuseField(field + "protocol", "\"" + Printable(protocol) + "\" is none of tcp, udp, sctp");
    const auto ip = Take<std::string>(mapping, field, "hostip", "a string");
    if (!ip.empty() && !IpAddress::Parse(ip))
      RefuseField(field + "hostIP", "\"" + Printable(ip) + "\" is no IP address");
  }
}

/// 0 where it is missing. A number above 2^53 is no longer exact in every JSON parser.
uint64_t TakeBits(const json& bandwidth, const std::string& where, const std::string& name,
                  uint64_t least) {
  constexpr uint64_t kMost = uint64_t{1} << 53;
  const auto found = bandwidth.find(Lower(name));
  if (found == bandwidth.end() || *found == 0) return 0;
  const bool in_range = found->is_number_unsigned() && found->get<uint64_t>() >= least &&
                        found->get<uint64_t>() <= kMost;
  if (!in_range)
    RefuseField(where + name, "is " + Printable(found->dump(-1, ' ', true)) +
                                  ", expected 0 or a number from " + std::to_string(least) +
                                  " to 2^53");
  return found->get<uint64_t>();
}

/// CNI's plugin bandwidth refuses such a burst as well.
uint64_t TakeBurst(const json& bandwidth, const std::string& where, const std::string& direction,
                   uint64_t rate) {
  constexpr uint64_t kUnset = UINT32_MAX;
  const uint64_t burst = TakeBits(bandwidth, where, direction + "Burst", 1);
  if (burst >= kUnset) return 0;
  if (burst != 0 && rate == 0)
    RefuseField(where + direction + "Burst", "is set without " + direction + "Rate");
  return burst;
}

void TakeBandwidth(const json& object, const std::string& where, Wishes& wishes) {
  constexpr uint64_t kLeastRate = 1000;
  const json* bandwidth = TakeObject(object, where, "bandwidth");
  if (bandwidth == nullptr) return;
  const std::string field = where + "bandwidth.";
  Bandwidth& wish = wishes.bandwidth;
  wish.ingress_rate = TakeBits(*bandwidth, field, "ingressRate", kLeastRate);
  wish.ingress_burst = TakeBurst(*bandwidth, field, "ingress", wish.ingress_rate);
  wish.egress_rate = TakeBits(*bandwidth, field, "egressRate", kLeastRate);
  wish.egress_burst = TakeBurst(*bandwidth, field, "egress", wish.egress_rate);
}

void TakeDns(const json& object, const std::string& where, Wishes& wishes) {
  const json* dns = TakeObject(object, where, "dns");
  if (dns == nullptr) return;
  try {
    wishes.dns = DecodeDns(*dns, "dns");
    ForEachOf(*dns, "servers", "dns", [&](const json& server, const std::string& path) {
      if (!server.is_string()) throw ParseError(path, "is no string");
      wishes.dns.nameservers.push_back(server.get<std::string>());
    });
    ForEachOf(*dns, "searches", "dns", [&](const json& domain, const std::string& path) {
      if (!domain.is_string()) throw ParseError(path, "is no string");
      wishes.dns.search.push_back(domain.get<std::string>());
    });
  } catch (const ParseError& e) {
    RefuseField(where + e.path(), e.reason());
  }
}

void TakeDeviceId(const json& object, const std::string& where, const char* name, Wishes& wishes) {
  auto id = Take<std::string>(object, where, name, "a string");
  if (!id.empty()) wishes.device_id = std::move(id);
}

void TakeArgs(const Args& args, Wishes& wishes) {
  try {
    if (!args.mac.empty()) wishes.mac = ParseMac("CNI_ARGS: MAC", args.mac);
    if (!args.ip.empty()) wishes.ips = {ParseIp("CNI_ARGS: IP", args.ip)};
    wishes.device_id = args.device_id;
    wishes.ovn_port = ParseOvnPort("CNI_ARGS: OvnPort", args.ovn_port);
  } catch (const CniError& e) {
    throw CniError(ErrorCode::kInvalidEnvironment, e.what());
  }
}

}  // namespace

Wishes ParseWishes(const json& config, const Args& args) {
  Wishes wishes;
  TakeArgs(args, wishes);
  if (const json* all_args = TakeObject(config, "", "args")) {
    if (const json* given = TakeObject(*all_args, "args.", "cni")) {
      const json ours = Known(*given, {"mac", "ips", "ovnport"});
      const std::string where = "args.cni.";
      TakeMac(ours, where, wishes);
      TakeIps(ours, where, wishes);
      const auto ovn_port = Take<std::string>(ours, where, "ovnport", "a string");
      if (wishes.ovn_port.empty()) wishes.ovn_port = ParseOvnPort(where + "ovnPort", ovn_port);
    }
  }
  // Multus writes deviceID into the configuration of the plugin that it calls.
  TakeDeviceId(config, "", "deviceID", wishes);
  const json* given = TakeObject(config, "", "runtimeConfig");
  if (given == nullptr) return wishes;
  const json runtime =
      Known(*given, {"mac", "ips", "deviceid", "dns", "portmappings", "bandwidth"});
  const std::string where = "runtimeConfig.";
  TakeMac(runtime, where, wishes);
  TakeIps(runtime, where, wishes);
  TakeDeviceId(runtime, where, "deviceid", wishes);
  TakeDns(runtime, where, wishes);
  CheckPortMappings(runtime, where);
  TakeBandwidth(runtime, where, wishes);
  return wishes;
}

}  // namespace kuryr::cni
