#include "controller/backends/pools/pool_factory.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "base/log.h"
#include "config/node_network_options.h"
#include "controller/backends/pools/pool_backend.h"

namespace kuryr::controller::pools {
namespace {

std::string FlatPools(const std::vector<Pool>& pools) {
  std::string names;
  for (const Pool& pool : pools) {
    if (!pool.routed) names.append(names.empty() ? "" : ", ").append(pool.name);
  }
  return names;
}

}  // namespace

BackendNeeds PoolFactory::needs() const {
  BackendNeeds needs;
  needs.node_policies = node_policies_ && std::ranges::any_of(pools_, &Pool::routed);
  needs.policies = needs.node_policies && !std::ranges::all_of(pools_, &Pool::routed);
  needs.admin_policies = needs.policies;
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
        "nothing enforces NetworkPolicies: nodes do it in routed pools (from_node or node_prefix "
        "with [node_network] enabled and policies)");
  } else if (needs().policies) {
    Log(LogLevel::kInfo, "nothing enforces NetworkPolicies in flat pools",
        {{"pools", FlatPools(pools_)}});
  }
}

std::shared_ptr<Backend> PoolFactory::Make(const BackendHooks& hooks) const {
  auto flat = needs().policies ? std::make_unique<FlatPolicies>(hooks.wake_policy) : nullptr;
  return std::make_shared<PoolBackend>(pools_, std::random_device()(),
                                       std::chrono::steady_clock::now, hooks.wake, std::move(flat));
}

std::shared_ptr<const BackendFactory> ReadBackend(const ConfigFiles& files,
                                                  const GetEnv& /*getenv*/) {
  return std::make_shared<PoolFactory>(ReadPools(files), ReadNodeNetwork(files).policies);
}

}  // namespace kuryr::controller::pools
