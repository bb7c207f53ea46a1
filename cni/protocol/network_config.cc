#include "cni/protocol/network_config.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "cni/protocol/field.h"
#include "cni/protocol/keys.h"

namespace kuryr::cni {
namespace {

using nlohmann::json;

constexpr const char* kTrueOrFalse = "true or false";

SpecVersion SupportedVersion(const std::string& text) {
  const auto version = ParseVersion(text);
  if (version) return *version;
  std::string supported;
  for (const auto known : kSupportedVersions)
    supported += (supported.empty() ? "" : ", ") + std::string(known);
  throw CniError(ErrorCode::kIncompatibleVersion, "incompatible CNI versions",
                 "config is \"" + Printable(text) + "\", plugin supports " + supported);
}

std::string TakeName(const json& config) {
  auto name = Take<std::string>(config, "", "name", "a string");
  if (name.empty()) throw CniError(ErrorCode::kInvalidConfig, "network configuration has no name");
  if (!IsIdentifier(name)) RefuseField("name", "\"" + Printable(name) + "\" " + kIdentifierRule);
  return name;
}

std::string TakePluginName(const json& object, const std::string& where) {
  auto type = Take<std::string>(object, where, "type", "a string");
  const auto is_odd = [](unsigned char c) { return c == '/' || c < ' ' || c == 0x7f; };
  if (std::any_of(type.begin(), type.end(), is_odd) || type == "." || type == "..") {
    RefuseField(where + "type", "\"" + Printable(type) +
                                    "\" has a path separator or a control character; expected a "
                                    "program's name");
  }
  return type;
}

std::string TakeLinkName(const json& object, const char* name, std::string fallback) {
  auto link = Take<std::string>(object, "kuryr.", name, "a string", std::move(fallback));
  if (!link.empty() && !IsLinkName(link)) {
    RefuseField(std::string("kuryr.") + name,
                "\"" + Printable(link) + "\" is no interface name (" + kLinkNameRule + ")");
  }
  return link;
}

StandaloneNetwork::Kind TakeKind(const json& kuryr) {
  const auto vif = Take<std::string>(kuryr, "kuryr.", "vif", "a string", "bridge");
  if (vif == "bridge") return StandaloneNetwork::Kind::kBridge;
  if (vif == "ovs") return StandaloneNetwork::Kind::kOvs;
  RefuseField("kuryr.vif", "is \"" + Printable(vif) + "\", expected bridge or ovs");
}

[[noreturn]] void RefuseMasquerade(const std::string& where) {
  throw CniError(ErrorCode::kUnsupportedField, "ipMasq true is not supported " + where,
                 "the network's router masquerades");
}

/// Refuses fields that contradict each other.
void RequireConsistent(const StandaloneNetwork& network) {
  const bool bridge = network.kind == StandaloneNetwork::Kind::kBridge;
  if (network.hairpin_mode && network.promisc_mode)
    RefuseField("promiscMode", "and hairpinMode are both true; choose one");
  if (!bridge && network.ip_masq) RefuseMasquerade("with kuryr.vif ovs");
  if (!bridge && !network.uplink.empty())
    throw CniError(ErrorCode::kUnsupportedField, "kuryr.uplink is not supported with kuryr.vif ovs",
                   "ovs-vsctl add-port BRIDGE LINK");
  if (network.ip_masq && !network.is_gateway)
    RefuseField("ipMasq",
                "is true, but isGateway is not: the pods' packets do not come by the node");
  if (!network.uplink.empty() && network.is_gateway)
    RefuseField("isGateway", "is true, but the gateway of a bridge with kuryr.uplink is out there");
  if (bridge && network.vlan.has_value() == network.uplink.empty())
    RefuseField("kuryr.vlan",
                "and kuryr.uplink of a bridge need each other: the VLAN is the uplink's");
}

/// CNI's plugin bridge has `vlan` at the top. Ignoring it would lose the network's isolation.
void RefuseVlanOutside(const json& config) {
  const auto vlan = config.find("vlan");
  if (vlan == config.end() || vlan->is_null() || *vlan == 0) return;
  RefuseField("vlan", "stands beside the section kuryr; it is a field of that section");
}

StandaloneNetwork TakeOvsCni(const json& config) {
  OvsCniConfig own = TakeOvsCniConfig(config);
  StandaloneNetwork network{.kind = StandaloneNetwork::Kind::kOvs,
                            .bridge = own.bridge,
                            .vlan = own.vlan,
                            .mtu = own.mtu};
  network.ovs_cni = std::move(own);
  return network;
}

std::optional<StandaloneNetwork> TakeStandalone(const json& config, const std::string& ipam) {
  const json* object = TakeObject(config, "", "kuryr");
  if (object == nullptr && ipam.empty()) {
    if (Take<bool>(config, "", "ipMasq", kTrueOrFalse)) RefuseMasquerade("of a producer's network");
    return std::nullopt;
  }
  const json kuryr = object != nullptr ? *object : json::object();
  RequireKnownKeys(kuryr, "kuryr", "kuryr");
  RefuseVlanOutside(config);
  constexpr uint32_t kLeastMtu = 68;
  constexpr uint32_t kMostMtu = 65535;
  constexpr uint32_t kMostVlan = 4094;
  StandaloneNetwork network{.kind = TakeKind(kuryr)};
  const bool bridge = network.kind == StandaloneNetwork::Kind::kBridge;
  network.bridge = TakeLinkName(kuryr, "bridge", bridge ? "cbr0" : "br-int");
  if (network.bridge.empty()) RefuseField("kuryr.bridge", "is empty");
  const uint32_t vlan = TakeNumber(kuryr, "kuryr.", "vlan", 1, kMostVlan);
  if (vlan != 0) network.vlan = static_cast<uint16_t>(vlan);
  network.uplink = TakeLinkName(kuryr, "uplink", "");
  network.mtu = TakeNumber(config, "", "mtu", 0, kMostMtu);
  if (network.mtu != 0 && network.mtu < kLeastMtu)
    RefuseField("mtu", "is " + std::to_string(network.mtu) + ", less than IPv4's 68");
  network.is_default_gateway = Take<bool>(config, "", "isDefaultGateway", kTrueOrFalse);
  network.is_gateway = Take<bool>(config, "", "isGateway", kTrueOrFalse, network.uplink.empty());
  network.ip_masq = Take<bool>(config, "", "ipMasq", kTrueOrFalse);
  network.promisc_mode = Take<bool>(config, "", "promiscMode", kTrueOrFalse);
  network.hairpin_mode = Take<bool>(config, "", "hairpinMode", kTrueOrFalse, !network.promisc_mode);
  RequireConsistent(network);
  return network;
}

Dns TakeDns(const json& config) {
  const json* dns = TakeObject(config, "", "dns");
  if (dns == nullptr) return {};
  try {
    return DecodeDns(*dns, "dns");
  } catch (const ParseError& e) {
    RefuseField(e.path(), e.reason());
  }
}

ValidAttachment TakeAttachment(const json& entry, const std::string& field) {
  if (!entry.is_object()) RefuseField(field, "holds no object");
  ValidAttachment valid = {Take<std::string>(entry, field + ": ", "containerID", "a string"),
                           Take<std::string>(entry, field + ": ", "ifname", "a string")};
  if (valid.first.empty() || valid.second.empty())
    RefuseField(field, "holds an entry without containerID or ifname");
  return valid;
}

/// The list's name in the tag spec-v1.1.0 differs from later text; libcni sends one or both.
std::optional<std::vector<ValidAttachment>> TakeValidAttachments(const json& config) {
  std::optional<std::vector<ValidAttachment>> valid;
  for (const char* name : {"cni.dev/valid-attachments", "cni.dev/attachments"}) {
    const auto found = config.find(name);
    if (found == config.end()) continue;
    if (!valid) valid.emplace();
    if (found->is_null()) continue;
    if (!found->is_array())
      RefuseField(name, std::string("is a JSON ") + found->type_name() + ", expected an array");
    for (const json& entry : *found) valid->push_back(TakeAttachment(entry, name));
  }
  return valid;
}

}  // namespace

json ParseInput(std::string_view input) {
  if (input.empty()) {
    throw CniError(ErrorCode::kDecodeFailure, "no network configuration on stdin",
                   "container runtimes call kuryr-cni; kuryr-cni --help has what people call");
  }
  json config;
  try {
    config = ParseJson(input);
  } catch (const ParseError& e) {
    throw CniError(ErrorCode::kDecodeFailure, "malformed network configuration on stdin", e.what());
  }
  if (!config.is_object()) {
    throw CniError(ErrorCode::kDecodeFailure, std::string("network configuration is a JSON ") +
                                                  config.type_name() + ", expected an object");
  }
  NameKeys(config);
  return config;
}

std::string VersionField(const json& config) {
  const auto found = config.find("cniVersion");
  if (found == config.end()) return {};
  if (!found->is_string()) {
    throw CniError(ErrorCode::kDecodeFailure, std::string("cniVersion is a JSON ") +
                                                  found->type_name() + ", expected a string");
  }
  return found->get<std::string>();
}

NetworkConfig ParseNetworkConfig(json input, Command command) {
  NetworkConfig config{.cni_version = VersionField(input)};
  config.version = SupportedVersion(config.cni_version);
  config.name = TakeName(input);
  config.is_ovs_cni = TakePluginName(input, "") == kOvsCniType;
  if (config.is_ovs_cni) config.ovsdb_connection = TakeOvsdbConnection(input);
  config.kuryr_conf = Take<std::string>(input, "", "kuryr_conf", "a path");
  config.debug = Take<bool>(input, "", "debug", kTrueOrFalse);
  if (const auto* ipam = TakeObject(input, "", "ipam"))
    config.ipam = TakePluginName(*ipam, "ipam.");
  if (command != Command::kDel) {
    RequireOneSpelling(input);
    config.standalone =
        config.is_ovs_cni ? std::optional(TakeOvsCni(input)) : TakeStandalone(input, config.ipam);
    config.dns = TakeDns(input);
  }
  const auto previous = input.find("prevResult");
  if (previous != input.end() && !previous->is_null()) config.prev_result = *previous;
  config.valid_attachments = TakeValidAttachments(input);
  config.json = std::move(input);
  return config;
}

}  // namespace kuryr::cni
