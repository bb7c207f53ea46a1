#include "cni/attachments/identity.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>

#include "base/error.h"
#include "base/log.h"
#include "binding/drivers/drivers.h"
#include "binding/links/interfaces.h"
#include "binding/plan/neutron_port.h"

namespace kuryr::cni {
namespace {

/// One interface as its network knows it.
struct Identity {
  std::string port;     ///< iface-id; empty where Open vSwitch has no port for it
  std::string segment;  ///< whom its MAC and addresses have to differ from
  std::optional<MacAddress> mac;
  std::vector<IpAddress> addresses;
};

/// Each VLAN is a network of its own; otherwise those of a bridge see each other, and those of a
/// link.
std::string SegmentOf(const vif::Vif& vif, const binding::Plug& plug) {
  const auto* nested = std::get_if<vif::VifVlanNested>(&vif);
  if (nested != nullptr && nested->vlan_id.has_value())
    return "VLAN " + std::to_string(*nested->vlan_id);
  return plug.bridge;
}

Identity IdentityOf(const vif::PodVif& planned, const binding::Plug& plug) {
  const vif::VifBase& vif = vif::Common(planned.vif);
  Identity identity{.segment = SegmentOf(planned.vif, plug)};
  if (binding::HasOvsPort(plug)) identity.port = binding::NeutronPortOf(vif);
  if (vif.address.has_value()) identity.mac = *vif.address;
  for (const IpNetwork& address : vif::AddressesOf(vif))
    identity.addresses.push_back(address.address);
  return identity;
}

std::vector<Identity> IdentitiesOf(const AttachmentRecord& record) {
  std::vector<Identity> identities;
  identities.reserve(record.vifs.size());
  for (size_t i = 0; i < record.vifs.size(); ++i)
    identities.push_back(IdentityOf(record.vifs[i], record.plugs[i]));
  return identities;
}

/// As a record's JSON has them.
std::vector<std::string> TextsOf(const std::vector<Identity>& identities) {
  std::vector<std::string> texts;
  for (const Identity& identity : identities) {
    using Handler = nlohmann::json::error_handler_t;
    if (!identity.port.empty())
      texts.push_back(nlohmann::json(identity.port).dump(-1, ' ', false, Handler::replace));
    if (identity.mac) texts.push_back("\"" + identity.mac->ToString() + "\"");
  }
  return texts;
}

/// The value that both have; empty where they differ.
std::string WhatBothHave(const Identity& own, const Identity& other) {
  if (!own.port.empty() && own.port == other.port)
    return "port " + Printable(own.port) + " (external_ids:iface-id)";
  if (!own.mac || own.mac != other.mac || own.segment != other.segment) return "";
  for (const IpAddress& address : own.addresses) {
    const auto& others = other.addresses;
    if (std::find(others.begin(), others.end(), address) != others.end())
      return "MAC " + own.mac->ToString() + " with address " + address.ToString();
  }
  return "";
}

/// Also one that was replaced under its name: the runtime's DEL for it is on its way.
bool IsSamePod(const AttachmentRecord& own, const AttachmentRecord& other) {
  if (!own.pod_uid.empty() && own.pod_uid == other.pod_uid) return true;
  constexpr const char* kNameless = "/";
  return own.pod == other.pod && own.pod != kNameless;
}

bool Lives(const AttachmentRecord& record) {
  return record.boot_id == BootId() && binding::NetnsOf(record.attachment()).has_value();
}

void RequireDifferent(const std::vector<Identity>& identities, const AttachmentRecord& other) {
  for (const Identity& theirs : IdentitiesOf(other)) {
    for (const Identity& own : identities) {
      const std::string common = WhatBothHave(own, theirs);
      if (common.empty()) continue;
      Log(LogLevel::kWarning, "the plan has what belongs to another pod",
          {{"what", common}, {"owner", other.pod}, {"container", other.key.container_id}});
      throw binding::HostInterfaceInUse(common + " belongs to another pod of this node");
    }
  }
}

}  // namespace

void RequireOwnIdentity(const AttachmentRecord& own, const AttachmentStore& attachments) {
  const std::vector<Identity> identities = IdentitiesOf(own);
  for (const AttachmentRecord& other :
       attachments.FindOthersMentioning(TextsOf(identities), own.key)) {
    if (IsSamePod(own, other) || !Lives(other)) continue;
    RequireDifferent(identities, other);
  }
}

}  // namespace kuryr::cni
