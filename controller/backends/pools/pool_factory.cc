#include "controller/backends/pools/pool_factory.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "base/log.h"
#include "config/node_network_options.h"
#include "controller/backends/pools/pool_backend.h"

namespace kuryr::controller::pools {

BackendNeeds PoolFactory::needs() const {
  BackendNeeds needs;
  needs.node_policies = node_policies_ && std::all_of(pools_.begin(), pools_.end(),
                                                      [](const Pool& pool) { return pool.routed; });
  for (const Pool& pool : pools_) {
    needs.node_networks = needs.node_networks || pool.pod_cidrs;
    needs.management_networks = needs.management_networks || pool.for_nodes;
    needs.gives_node_networks = needs.gives_node_networks || !pool.blocks.empty();
    for (const auto& [key, value] : pool.pods) needs.labels.insert(key);
  }
  return needs;
}

void PoolFactory::Warn() const {
  if (pools_.empty()) {
    Log(LogLevel::kWarning,
        "kuryr.conf has no pool: no pod will be planned; add a section [pool:NAME]");
  } else if (!needs().node_policies) {
    Log(LogLevel::kInfo,
        "nothing enforces NetworkPolicies: nodes do it where all pools are routed (from_node or "
        "node_prefix with [node_network] enabled and policies)");
  }
}

std::shared_ptr<Backend> PoolFactory::Make(const BackendHooks& hooks) const {
  return std::make_shared<PoolBackend>(pools_, std::random_device()(),
                                       std::chrono::steady_clock::now, hooks.wake);
}

std::shared_ptr<const BackendFactory> ReadBackend(const ConfigFiles& files,
                                                  const GetEnv& /*getenv*/) {
  return std::make_shared<PoolFactory>(ReadPools(files), ReadNodeNetwork(files).policies);
}

}  // namespace kuryr::controller::pools
