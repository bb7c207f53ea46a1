#pragma once

#include <string>
#include <vector>

#include "binding/difference.h"
#include "binding/plan/planned.h"
#include "tests/support/private_ovs.h"

namespace kuryr::binding {

/// A way in which somebody breaks the plug of a running pod.
struct Damage {
  using Command = std::vector<std::string>;

  std::string name;
  std::vector<Command> commands;  ///< of iproute2, or of ovs-vsctl
  DifferenceKind kind;            ///< the first difference
};

/// The ways for a plug of one of the drivers ovs, hybrid and bridge.
inline std::vector<Damage> DamagesOf(const Plug& plug) {
  using Kind = DifferenceKind;
  const std::string& tap = plug.host_interface;
  std::vector<Damage> damages = {
      {"host end down", {{"ip", "link", "set", tap, "down"}}, Kind::kState},
      {"host end's MTU", {{"ip", "link", "set", tap, "mtu", "1400"}}, Kind::kMtu},
      {"host end's alias", {{"ip", "link", "set", tap, "alias", ""}}, Kind::kAlias}};
  if (plug.driver != "ovs")
    damages.push_back({"no bridge", {{"ip", "link", "set", tap, "nomaster"}}, Kind::kBridge});
  if (plug.driver == "bridge") {
    damages.push_back({"another bridge",
                       {{"ip", "link", "delete", "br-lan"},
                        {"ip", "link", "add", "br-lan", "up", "type", "bridge"}},
                       Kind::kBridge});
    return damages;
  }
  std::string port = tap;
  if (plug.driver == "hybrid") {
    port = "qvo" + plug.device.substr(3);
    const std::string end = "qvb" + plug.device.substr(3);
    damages.push_back({"hub", {{"ip", "link", "delete", plug.device}}, Kind::kLink});
    damages.push_back({"hub down", {{"ip", "link", "set", plug.device, "down"}}, Kind::kState});
    damages.push_back({"patch", {{"ip", "link", "delete", port}}, Kind::kLink});
    damages.push_back({"patch down", {{"ip", "link", "set", end, "down"}}, Kind::kState});
  }
  damages.push_back({"port", {{"ovs-vsctl", "del-port", port}}, Kind::kPort});
  damages.push_back({"port made by hand",
                     {{"ovs-vsctl", "del-port", port, "--", "add-port", "br-int", port}},
                     Kind::kExternalIds});
  damages.push_back({"external_ids",
                     {{"ovs-vsctl", "clear", "Interface", port, "external_ids"}},
                     Kind::kExternalIds});
  damages.push_back({"one external_id",
                     {{"ovs-vsctl", "set", "Interface", port, "external_ids:iface-id=other"}},
                     Kind::kExternalIds});
  damages.push_back({"bridge made anew",
                     {{"ovs-vsctl", "del-br", "br-int"},
                      {"ovs-vsctl", "add-br", "br-int", "--", "set", "Bridge", "br-int",
                       "datapath_type=" + test::PrivateOvs::datapath_type()}},
                     Kind::kPort});
  return damages;
}

}  // namespace kuryr::binding
