#include "cni/network_binding.h"

#include <string>

#include "cni/local/local_vif.h"
#include "cni/ovs_cni/cache.h"
#include "cni/ovs_cni/prepare.h"

namespace kuryr::cni {
namespace {

void TakeLocal(const Request& request, binding::BindingConfig& binding) {
  const LocalNetwork& local = *request.config.local;
  binding.owns_ports = true;
  // Who would give an isolated port its VLAN is not there.
  binding.isolate_vif = false;
  binding::NamedElsewhere& named = binding.named;
  named.host_interfaces.push_back(
      LocalHostInterface({request.config.name, request.container_id, request.ifname}));
  if (local.kind == LocalNetwork::Kind::kOvs) {
    if (!local.ovs_cni) binding.port.vlan = local.vlan;
    named.drivers.emplace_back(HasDevice(request) ? "sriov" : "ovs");
    named.ovs_bridges.push_back(local.bridge);
  } else {
    if (local.hairpin_mode) binding.hairpin = binding::HairpinMode::kHairpinVeth;
    named.drivers.emplace_back("bridge");
    named.kernel_bridges.push_back(local.bridge);
    named.uplinks.push_back(local.uplink);
  }
}

/// Which Open vSwitch a network of ovs-cni is on; a DEL has no ovs.conf where that cannot be read.
void TakeOvsdb(const Request& request, Config& config) {
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
  if (request.config.is_ovs_cni) TakeOvsdb(request, config);
  if (!request.config.local) return;
  if (request.config.local->ovs_cni) PrepareOvsCni(request, config.binding, deadline);
  TakeLocal(request, config.binding);
}

}  // namespace kuryr::cni
