#include "cni/network_binding.h"

#include <string>

#include "cni/ovs_cni/cache.h"
#include "cni/ovs_cni/prepare.h"
#include "cni/standalone/standalone_vif.h"

namespace kuryr::cni {
namespace {

void ApplyStandalone(const Request& request, binding::BindingConfig& binding) {
  const StandaloneNetwork& network = *request.config.standalone;
  binding.owns_ports = true;
  // No Neutron agent runs here that would give an isolated port its VLAN.
  binding.isolate_vif = false;
  binding::NamedElsewhere& named = binding.named;
  named.host_interfaces.push_back(
      StandaloneHostInterface({request.config.name, request.container_id, request.ifname}));
  if (network.kind == StandaloneNetwork::Kind::kOvs) {
    if (!network.ovs_cni) binding.port.vlan = network.vlan;
    named.drivers.emplace_back(HasDevice(request) ? "sriov" : "ovs");
    named.ovs_bridges.push_back(network.bridge);
  } else {
    if (network.hairpin_mode) binding.hairpin = binding::HairpinMode::kHairpinVeth;
    named.drivers.emplace_back("bridge");
    named.kernel_bridges.push_back(network.bridge);
    named.uplinks.push_back(network.uplink);
  }
}

/// Sets the Open vSwitch of a network of ovs-cni; for a DEL ovs-cni's cache may name it.
void ApplyOvsdb(const Request& request, Config& config) {
  std::string remote = request.config.ovsdb_connection;
  if (remote.empty() && request.command == Command::kDel) {
    const auto kept =
        OvsCniCache(config.ovs_cni_cache_dir).Find(request.container_id, request.ifname);
    if (kept) remote = kept->ovsdb_connection;
  }
  if (!remote.empty()) config.binding.ovsdb_connection = remote;
}

}  // namespace

void ApplyNetwork(Request& request, Config& config, const Deadline& deadline) {
  if (request.config.is_ovs_cni) ApplyOvsdb(request, config);
  if (!request.config.standalone) return;
  if (request.config.standalone->ovs_cni) PrepareOvsCni(request, config.binding, deadline);
  ApplyStandalone(request, config.binding);
}

}  // namespace kuryr::cni
