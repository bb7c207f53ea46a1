#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "controller/backends/pools/pool_backend.h"

namespace kuryr::controller::pools {
namespace {

/// One file for all inputs; it ends with the process.
int File() {
  static const int kFile = ::memfd_create("pools", 0);
  return kFile;
}

void Require(bool fact) {
  if (!fact) std::abort();
}

/// An accepted pool has an address for a pod in each of its networks, and in no others.
void Allocate(PoolBackend& backend, const Pool& pool) {
  const std::string scope = pool.namespaces.empty() ? "any" : pool.namespaces.front();
  const PlanRequest request = {
      .owner = {.id = pool.name, .scope = scope, .name = pool.name, .node = "n"},
      .labels = pool.pods,
      .node_networks = {IpNetwork::Parse("10.255.255.0/24").value()},
      .interfaces = {{.ifname = "eth0", .is_default = true, .network = pool.name}}};
  const bool reachable =
      pool.is_default || pool.all_namespaces || !pool.namespaces.empty() || !pool.pods.empty();
  try {
    const auto vifs = backend.Reserve(request);
    Require(reachable && vifs.has_value() && vifs->size() == 1);
    const vif::VifBase& vif = vif::Common(vifs->front().vif);
    Require(pool.from_node || vif.network->subnets->size() == pool.subnets.size());
    for (const vif::Subnet& subnet : *vif.network->subnets) {
      for (const IpNetwork& address : vif::FixedIpsOf(vif, subnet))
        Require(subnet.cidr->Contains(address.address) &&
                !IsReserved(*subnet.cidr, address.address) &&
                subnet.gateway != vif::Field<IpAddress>(address.address));
    }
    Require(vif::DecodeAnnotation(vif::EncodeAnnotation(*vifs)).size() == 1);
    backend.Release(pool.name);
  } catch (const PlanError&) {
    // A node's network may overlap another pool's, or be excluded as a whole.
    Require(!reachable || pool.from_node);
  }
}

}  // namespace
}  // namespace kuryr::controller::pools

/// The pools of a kuryr.conf are refused by name, or can be allocated from.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kuryr;
  namespace pools = controller::pools;
  if (::ftruncate(pools::File(), 0) != 0 ||
      ::pwrite(pools::File(), data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  const std::string name = "/proc/self/fd/" + std::to_string(pools::File());
  try {
    const std::vector<pools::Pool> pools = pools::ReadPools(ConfigFiles({name}));
    pools::PoolBackend backend(pools, size);
    for (const pools::Pool& pool : pools) pools::Allocate(backend, pool);
  } catch (const ConfigError&) {
    return 0;
  }
  return 0;
}
