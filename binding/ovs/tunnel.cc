#include "binding/ovs/tunnel.h"

#include <map>
#include <nlohmann/json.hpp>

#include "binding/ovs/database.h"
#include "ovsdb/client.h"
#include "ovsdb/operation.h"

namespace kuryr::binding {
namespace {

using nlohmann::json;

std::string TextAt(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

/// "a,b" -> "a"
std::string FirstOf(const std::string& list) { return list.substr(0, list.find(',')); }

/// nullopt where `ip`, the database's text, is no address.
std::optional<Tunnel> TunnelFrom(const std::string& type, const std::string& ip) {
  const auto address = IpAddress::Parse(ip);
  return address ? std::optional(Tunnel{type, *address}) : std::nullopt;
}

}  // namespace

uint32_t Tunnel::overhead() const noexcept {
  return (type == "vxlan" ? 30U : 38U) + (address.family == IpFamily::kIpv6 ? 40U : 20U);
}

std::optional<Tunnel> FindTunnel(const std::string& remote, const Deadline& deadline) {
  OvsdbClient client(kOpenVSwitchDatabase, remote);
  const json rows = client.TransactOrThrow(
      json::array({ovsdb::Select("Open_vSwitch", ovsdb::Everywhere(), {"external_ids"}),
                   ovsdb::Select("Interface", ovsdb::Everywhere(), {"type", "options"})}),
      deadline, "look for tunnels");
  for (const json& row : rows.at(0).at("rows")) {
    const auto ids = ovsdb::ParseMap(row.at("external_ids"));
    const auto tunnel =
        TunnelFrom(FirstOf(TextAt(ids, "ovn-encap-type")), FirstOf(TextAt(ids, "ovn-encap-ip")));
    if (tunnel) return tunnel;
  }
  for (const json& row : rows.at(1).at("rows")) {
    const std::string type = row.at("type");
    if (type != "vxlan" && type != "geneve") continue;
    const auto tunnel = TunnelFrom(type, TextAt(ovsdb::ParseMap(row.at("options")), "local_ip"));
    if (tunnel) return tunnel;
  }
  return std::nullopt;
}

}  // namespace kuryr::binding
