#include "cni/doctor/ovs_checks.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "binding/drivers/binding.h"
#include "binding/netlink/route_socket.h"
#include "binding/ovs/tunnel.h"
#include "cni/attachments/attachment_store.h"
#include "cni/commands/status.h"

namespace kuryr::cni::doctor {
namespace {

/// The largest of the VIFs that this node has plugged on a bridge of Open vSwitch; 0: none.
uint32_t LargestMtu(const Config& config) {
  // AttachmentStore would make the folder.
  if (!std::filesystem::exists(config.state_dir)) return 0;
  const AttachmentStore attachments(config.state_dir);
  uint32_t largest = 0;
  for (const AttachmentKey& key : attachments.List()) {
    const auto record = attachments.Find(key);
    if (!record) continue;
    for (const vif::PodVif& vif : record->vifs) {
      const vif::VifBase& common = vif::Common(vif.vif);
      if (!std::holds_alternative<vif::VifOpenVSwitch>(vif.vif) || !common.network.has_value())
        continue;
      largest = std::max(largest, static_cast<uint32_t>(common.network->mtu.value_or(0)));
    }
  }
  return largest;
}

std::optional<Finding> CheckMtu(const Config& config, const Deadline& deadline) {
  const auto tunnel = binding::FindTunnel(config.binding.ovsdb_connection, deadline);
  if (!tunnel) return std::nullopt;
  const std::string subject = "MTU";
  const std::string address = tunnel->address.ToString();
  binding::RouteSocket socket;
  const auto index = socket.FindLinkWith(tunnel->address);
  const auto link = index ? socket.FindLink(*index) : std::nullopt;
  if (!link) {
    return Finding{
        subject, Verdict::kBad, "no link of this node has the tunnels' address " + address,
        "set external_ids:ovn-encap-ip, or the agent's local_ip, to an address of the node"};
  }
  const uint32_t room = link->mtu - std::min(link->mtu, tunnel->overhead());
  const uint32_t wanted = LargestMtu(config);
  const std::string found = "tunnels over " + link->name + " carry " + std::to_string(room);
  if (wanted == 0) return Finding{subject, Verdict::kGood, found + "; no VIF is plugged", ""};
  const std::string both = found + ", the VIFs have at most " + std::to_string(wanted);
  if (wanted <= room) return Finding{subject, Verdict::kGood, both, ""};
  return Finding{subject, Verdict::kBad, both,
                 "lower the MTU of the networks at the producer, or raise that of " + link->name};
}

}  // namespace

Findings CheckOvs(const Config& config, const Deadline& deadline) {
  const auto bridge = OvsBridgeOf(config);
  const std::string subject = "Open vSwitch";
  if (!bridge) return {{subject, Verdict::kGood, "no driver of this node needs it", ""}};
  const binding::Binding binding(config.binding);
  if (const auto problem = binding.FindOvsProblem(*bridge, deadline)) {
    return {{subject, Verdict::kBad, *problem,
             "start Open vSwitch (openvswitch-switch), or load the kernel's module openvswitch; " +
                 config.binding.ovsdb_connection + " is [os_vif_ovs] ovsdb_connection, " + *bridge +
                 " is [neutron_defaults] ovs_bridge"}};
  }
  Findings findings = {{subject, Verdict::kGood, "bridge " + *bridge + " is there and up", ""}};
  if (const auto mtu = CheckMtu(config, deadline)) findings.push_back(*mtu);
  return findings;
}

}  // namespace kuryr::cni::doctor
