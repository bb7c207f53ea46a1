#include "cni/ovs_cni/prepare.h"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "binding/devices/lent_vf.h"
#include "binding/devices/vf.h"
#include "binding/netlink/route_socket.h"
#include "binding/ovs/open_vswitch.h"
#include "binding/ovs/port_mirrors.h"
#include "binding/plan/attachment.h"
#include "binding/plan/neutron_port.h"
#include "cni/protocol/error.h"
#include "cni/protocol/field.h"

namespace kuryr::cni {
namespace {

constexpr const char* kOvnBridge = "br-int";

/// A function with a vDPA device is for a virtual machine's driver, and no pod's network device.
void RefuseVdpa(const std::filesystem::path& function) {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(function, gone)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("vdpa")) {
      RefuseField("deviceID", function.filename().string() + " has the vDPA device " +
                                  Printable(name) + ", and vDPA is not supported");
    }
  }
}

binding::Vf RequireVf(const std::string& device, const binding::BindingConfig& config) {
  const auto address = vif::PciAddress::Parse(device);
  if (!address) RefuseField("deviceID", "\"" + Printable(device) + "\" is no PCI address");
  auto vf = binding::FindVf(config.sysfs, *address);
  if (!vf) RefuseField("deviceID", device + " is no virtual function on this node (SR-IOV)");
  RefuseVdpa(config.sysfs / "bus/pci/devices" / address->ToString());
  return *std::move(vf);
}

/// The link of the device's physical function, and the bond that it may be in.
std::vector<std::string> UplinksOf(const binding::Vf& vf) {
  binding::RouteSocket host;
  const binding::Link pf = binding::FindPf(host, vf);
  std::vector<std::string> uplinks = {pf.name};
  const auto master = pf.master != 0 ? host.FindLink(pf.master) : std::nullopt;
  if (master && master->kind == "bond") uplinks.push_back(master->name);
  return uplinks;
}

std::string BridgeOfUplink(const binding::Vf& vf, const binding::BindingConfig& config,
                           const Deadline& deadline) {
  binding::OpenVSwitch ovs(config.ovsdb_connection);
  std::string tried;
  for (const std::string& uplink : UplinksOf(vf)) {
    const std::string bridge = ovs.FindBridgeOfInterface(uplink, deadline);
    if (!bridge.empty()) return bridge;
    tried += (tried.empty() ? "" : ", ") + uplink;
  }
  RefuseField("bridge", "is not set, and no bridge of Open vSwitch has " + tried +
                            ", the uplink of " + vf.ToString());
}

void UseTls(const binding::BindingConfig& config) {
  if (config.ovsdb_connection.starts_with("ssl:"))
    OvsdbClient::UseTls(config.ssl_key_file, config.ssl_cert_file, config.ssl_ca_cert_file);
}

/// The pod's author names the OVN port: throws when another pod or virtual machine has it.
void RequireFree(const Request& request, const binding::BindingConfig& config,
                 const Deadline& deadline) {
  const std::string& port = request.wishes.ovn_port;
  binding::OpenVSwitch ovs(config.ovsdb_connection);
  const binding::ExternalIds ids = {{binding::OpenVSwitch::kNeutronPort, port}};
  for (const std::string& name : ovs.FindPortNames(ids, deadline)) {
    const auto state = ovs.FindPortState(name, deadline);
    // A port whose device is gone is a leftover.
    if (!state || state->ofport < 1) continue;
    const auto uid = state->external_ids.find(binding::OpenVSwitch::kPodUid);
    const bool own =
        uid != state->external_ids.end() && !uid->second.empty() && uid->second == request.pod.uid;
    if (!own)
      throw binding::HostInterfaceInUse("OVN's port " + port +
                                        " (external_ids:iface-id) belongs to another pod");
  }
}

/// The lower limit: a wish, which the pod's author chooses, must not exceed the network's limit.
Bandwidth LowerOf(const Bandwidth& networks, const Bandwidth& wish) {
  Bandwidth lower = networks;
  const auto is_lower = [](uint64_t wished, uint64_t rate) {
    return wished != 0 && (rate == 0 || wished < rate);
  };
  if (is_lower(wish.ingress_rate, networks.ingress_rate)) {
    lower.ingress_rate = wish.ingress_rate;
    lower.ingress_burst = wish.ingress_burst;
  }
  if (is_lower(wish.egress_rate, networks.egress_rate)) {
    lower.egress_rate = wish.egress_rate;
    lower.egress_burst = wish.egress_burst;
  }
  return lower;
}

binding::PortSettings SettingsOf(const Request& request) {
  const OvsCniConfig& own = *request.config.standalone->ovs_cni;
  binding::PortSettings settings{.vlan = own.vlan,
                                 .vlan_mode = own.vlan_mode,
                                 .trunks = own.trunks,
                                 .interface_type = own.interface_type,
                                 .ofport_request = own.ofport_request,
                                 .iface_id = request.wishes.ovn_port};
  for (const OvsCniMirror& mirror : own.mirrors)
    settings.mirrors.push_back({.name = mirror.name,
                                .ingress = mirror.ingress,
                                .egress = mirror.egress,
                                .output = mirror.output});
  // ovs-cni finds the port by these.
  settings.external_ids = {{"owner", binding::kOvsCniOwner},
                           {"contNetns", request.netns},
                           {"contIface", request.ifname},
                           {"contPodUid", request.pod.uid}};
  return settings;
}

}  // namespace

void PrepareOvsCni(Request& request, binding::BindingConfig& config, const Deadline& deadline) {
  StandaloneNetwork& network = *request.config.standalone;
  UseTls(config);
  if (request.command == Command::kCheck)
    request.wishes = ParseWishes(request.config.json, ParseArgs(request.args));
  Wishes& wishes = request.wishes;
  const bool adds = request.command == Command::kAdd;
  if (!wishes.device_id.empty() && adds) {
    const binding::Vf vf = RequireVf(wishes.device_id, config);
    const auto link = binding::RouteSocket().FindLink(vf.link);
    if (!wishes.mac && link) wishes.mac = link->mac;
    if (network.bridge.empty() && wishes.ovn_port.empty())
      network.bridge = BridgeOfUplink(vf, config, deadline);
  }
  if (network.bridge.empty() && !wishes.ovn_port.empty()) network.bridge = kOvnBridge;
  if (network.bridge.empty() && adds)
    RefuseField("bridge", "is not set, nor are deviceID and OvnPort");
  if (adds && !wishes.ovn_port.empty()) RequireFree(request, config, deadline);
  wishes.bandwidth = LowerOf(network.ovs_cni->bandwidth, wishes.bandwidth);
  config.port = SettingsOf(request);
  config.needs_bridge = true;
  // ovs-cni sets QoS only where it is asked for.
  config.default_qos_type.clear();
}

}  // namespace kuryr::cni
