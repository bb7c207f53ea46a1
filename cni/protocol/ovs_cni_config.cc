#include "cni/protocol/ovs_cni_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/names.h"
#include "cni/protocol/field.h"
#include "cni/protocol/keys.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

constexpr uint32_t kMostTag = 4094;
/// Largest VLAN of a trunk. 802.1Q reserves it, and Open vSwitch accepts it.
constexpr uint32_t kMostTrunk = 4095;
constexpr size_t kMostMirrors = 16;

bool IsSet(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && !found->is_null();
}

std::string TakeBridge(const json& config) {
  auto bridge = Take<std::string>(config, "", "bridge", "a string");
  if (!bridge.empty() && !IsLinkName(bridge))
    RefuseField("bridge", "\"" + Printable(bridge) + "\" is no bridge's name (" +
                              std::string(kLinkNameRule) + ")");
  return bridge;
}

const json* TakeList(const json& config, const char* name) {
  const auto found = config.find(name);
  if (found == config.end() || found->is_null()) return nullptr;
  if (!found->is_array())
    RefuseField(name, std::string("is a JSON ") + found->type_name() + ", expected an array");
  return &*found;
}

void TakeTrunk(const json& entry, const std::string& field, std::set<uint16_t>& vlans) {
  if (!entry.is_object()) RefuseField(field, "is no object");
  const bool range = IsSet(entry, "minID");
  if (range != IsSet(entry, "maxID")) RefuseField(field, "has minID or maxID without the other");
  if (!range && !IsSet(entry, "id")) RefuseField(field, "has neither id nor minID and maxID");
  const std::string where = field + ".";
  if (IsSet(entry, "id"))
    vlans.insert(static_cast<uint16_t>(TakeNumber(entry, where, "id", 0, kMostTrunk)));
  if (!range) return;
  const uint32_t first = TakeNumber(entry, where, "minID", 0, kMostTrunk);
  const uint32_t last = TakeNumber(entry, where, "maxID", 0, kMostTrunk);
  if (last < first)
    RefuseField(where + "maxID",
                "is " + std::to_string(last) + ", less than minID " + std::to_string(first));
  for (uint32_t vlan = first; vlan <= last; ++vlan) vlans.insert(static_cast<uint16_t>(vlan));
}

std::vector<uint16_t> TakeTrunks(const json& config) {
  const json* list = TakeList(config, "trunk");
  if (list == nullptr) return {};
  std::set<uint16_t> vlans;
  for (size_t i = 0; i < list->size(); ++i)
    TakeTrunk(list->at(i), "trunk[" + std::to_string(i) + "]", vlans);
  return {vlans.begin(), vlans.end()};
}

/// The mode that ovs-cni gives a port without vlan_mode.
std::string DefaultMode(const OvsCniConfig& own) {
  return own.vlan && own.trunks.empty() ? "access" : "trunk";
}

void TakeVlans(const json& config, OvsCniConfig& own) {
  if (IsSet(config, "vlan"))
    own.vlan = static_cast<uint16_t>(TakeNumber(config, "", "vlan", 0, kMostTag));
  own.trunks = TakeTrunks(config);
  own.vlan_mode = Take<std::string>(config, "", "vlan_mode", "a string", DefaultMode(own));
  constexpr std::array<std::string_view, 4> kModes = {"access", "trunk", "native-tagged",
                                                      "native-untagged"};
  if (std::find(kModes.begin(), kModes.end(), own.vlan_mode) == kModes.end())
    RefuseField("vlan_mode", "is \"" + Printable(own.vlan_mode) +
                                 "\", expected access, trunk, native-tagged or native-untagged");
  if (own.vlan_mode == "access" && !own.trunks.empty())
    RefuseField("vlan_mode", "is access, and trunk has VLANs");
  if (own.vlan_mode == "trunk") {
    own.vlan.reset();
  } else if (!own.vlan) {
    RefuseField("vlan_mode", "is " + own.vlan_mode + ", which needs vlan");
  }
}

std::string TakeInterfaceType(const json& config) {
  auto type = Take<std::string>(config, "", "interface_type", "a string");
  if (type.empty() || type == "system") return type;
  throw CniError(ErrorCode::kUnsupportedField,
                 "interface_type \"" + Printable(type) + "\" is not supported",
                 "a pod's interface is a device of the node: system, or nothing");
}

uint64_t TakeRate(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return 0;
  constexpr uint64_t kLeast = 1000;
  constexpr uint64_t kMost = 1'000'000'000'000;
  if (!found->is_number_unsigned() || found->get<uint64_t>() < kLeast ||
      found->get<uint64_t>() > kMost)
    RefuseField(std::string("bandwidth.") + name, "is " +
                                                      Printable(found->dump(-1, ' ', true), 100) +
                                                      ", expected a number from 1000 to 10^12");
  return found->get<uint64_t>();
}

/// Runtimes send 2^32 - 1 for a burst that nobody asks for, and templates repeat it.
uint64_t KnownBurst(uint64_t burst) { return burst >= UINT32_MAX ? 0 : burst; }

Bandwidth TakeBandwidth(const json& config) {
  const json* object = TakeObject(config, "", "bandwidth");
  if (object == nullptr) return {};
  RequireKnownKeys(*object, "bandwidth", "bandwidth");
  Bandwidth bandwidth = {.ingress_rate = TakeRate(*object, "ingressRate"),
                         .ingress_burst = TakeRate(*object, "ingressBurst"),
                         .egress_rate = TakeRate(*object, "egressRate"),
                         .egress_burst = TakeRate(*object, "egressBurst")};
  if (bandwidth.ingress_burst != 0 && bandwidth.ingress_rate == 0)
    RefuseField("bandwidth.ingressBurst", "is set without ingressRate");
  if (bandwidth.egress_burst != 0 && bandwidth.egress_rate == 0)
    RefuseField("bandwidth.egressBurst", "is set without egressRate");
  bandwidth.ingress_burst = KnownBurst(bandwidth.ingress_burst);
  bandwidth.egress_burst = KnownBurst(bandwidth.egress_burst);
  return bandwidth;
}

bool IsMirrorName(const std::string& name) {
  constexpr size_t kLongest = 63;
  return !name.empty() && name.size() <= kLongest &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c > ' ' && c < 0x7f && c != ','; });
}

OvsCniMirror TakeMirror(const json& entry, const std::string& field) {
  if (!entry.is_object()) RefuseField(field, "is no object");
  RequireKnownKeys(entry, "mirrors", field);
  const std::string where = field + ".";
  constexpr const char* kBoolean = "true or false";
  OvsCniMirror mirror{.name = Take<std::string>(entry, where, "name", "a string"),
                      .ingress = Take<bool>(entry, where, "ingress", kBoolean),
                      .egress = Take<bool>(entry, where, "egress", kBoolean)};
  if (!IsMirrorName(mirror.name))
    RefuseField(where + "name", "\"" + Printable(mirror.name) +
                                    "\" is no mirror's name (1 to 63 printable characters, no "
                                    "blank, no comma)");
  mirror.output = !mirror.ingress && !mirror.egress;
  if (mirror.output && entry.size() > 1)
    RefuseField(field,
                "has ingress and egress false; leave both out for the port that gets what "
                "is mirrored");
  return mirror;
}

std::vector<OvsCniMirror> TakeMirrors(const json& config) {
  const json* list = TakeList(config, "mirrors");
  if (list == nullptr) return {};
  if (list->size() > kMostMirrors)
    RefuseField("mirrors", "has more than " + std::to_string(kMostMirrors) + " entries");
  std::vector<OvsCniMirror> mirrors;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string field = "mirrors[" + std::to_string(i) + "]";
    OvsCniMirror mirror = TakeMirror(list->at(i), field);
    const bool twice = std::any_of(mirrors.begin(), mirrors.end(),
                                   [&](const auto& known) { return known.name == mirror.name; });
    if (twice) RefuseField(field, "names " + mirror.name + " a second time");
    mirrors.push_back(std::move(mirror));
  }
  return mirrors;
}

}  // namespace

OvsCniConfig TakeOvsCniConfig(const json& config) {
  constexpr uint32_t kLeastMtu = 68;
  constexpr uint32_t kMostMtu = 65535;
  constexpr uint32_t kMostPort = 65279;
  constexpr uint32_t kMostOfAny = UINT32_MAX;
  OvsCniConfig own{.bridge = TakeBridge(config)};
  TakeVlans(config, own);
  own.mtu = TakeNumber(config, "", "mtu", 0, kMostMtu);
  if (own.mtu != 0 && own.mtu < kLeastMtu)
    RefuseField("mtu", "is " + std::to_string(own.mtu) + ", less than IPv4's 68");
  own.ofport_request = TakeNumber(config, "", "ofport_request", 0, kMostPort);
  own.interface_type = TakeInterfaceType(config);
  own.bandwidth = TakeBandwidth(config);
  own.mirrors = TakeMirrors(config);
  // These are only checked: the drivers wait for events of Open vSwitch.
  for (const char* name : {"link_state_check_retries", "link_state_check_interval"})
    (void)TakeNumber(config, "", name, 0, kMostOfAny);
  return own;
}

std::string TakeOvsdbConnection(const json& config) {
  auto socket = Take<std::string>(config, "", "socket_file", "a string");
  if (socket.empty()) return socket;
  if (socket.front() == '/') return "unix:" + socket;
  const auto begins = [&](std::string_view scheme) {
    return socket.size() > scheme.size() && socket.starts_with(scheme);
  };
  if (begins("unix:/") || begins("tcp:") || begins("ssl:")) return socket;
  RefuseField("socket_file", "\"" + Printable(socket) +
                                 "\" is none of unix:/PATH, /PATH, tcp:HOST:PORT, ssl:HOST:PORT");
}

}  // namespace kuryr::cni
