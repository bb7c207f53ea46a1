#include "controller/backends/pools/pool_factory.h"

#include <chrono>
#include <random>

#include "base/log.h"
#include "controller/backends/pools/pool_backend.h"

namespace kuryr::controller::pools {

BackendNeeds PoolFactory::needs() const {
  BackendNeeds needs;
  for (const Pool& pool : pools_) {
    needs.node_networks = needs.node_networks || pool.pod_cidrs;
    needs.management_networks = needs.management_networks || pool.for_nodes;
    needs.gives_node_networks = needs.gives_node_networks || !pool.blocks.empty();
    for (const auto& [key, value] : pool.pods) needs.labels.insert(key);
  }
  return needs;
}

void PoolFactory::Warn() const {
  if (!pools_.empty()) return;
  Log(LogLevel::kWarning,
      "kuryr.conf has no pool: no pod will be planned; add a section [pool:NAME]");
}

std::shared_ptr<Backend> PoolFactory::Make(const BackendHooks& hooks) const {
  return std::make_shared<PoolBackend>(pools_, std::random_device()(),
                                       std::chrono::steady_clock::now, hooks.wake);
}

std::shared_ptr<const BackendFactory> ReadBackend(const ConfigFiles& files,
                                                  const GetEnv& /*getenv*/) {
  return std::make_shared<PoolFactory>(ReadPools(files));
}

}  // namespace kuryr::controller::pools
