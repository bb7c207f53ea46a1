#include "controller/backends/pools/pool_choice.h"

#include <algorithm>
#include <functional>

#include "base/error.h"

namespace kuryr::controller::pools {
namespace {

bool Lists(const Pool& pool, const std::string& scope) {
  return std::find(pool.namespaces.begin(), pool.namespaces.end(), scope) != pool.namespaces.end();
}

bool IsGiven(const Pool& pool, const std::string& scope) {
  return pool.all_namespaces || Lists(pool, scope);
}

bool HasLabels(const Pool& pool, const PlanRequest& request) {
  return std::all_of(pool.pods.begin(), pool.pods.end(), [&](const auto& wanted) {
    const auto label = request.labels.find(wanted.first);
    return label != request.labels.end() && label->second == wanted.second;
  });
}

bool IsForLabelsAlone(const Pool& pool) {
  return !pool.pods.empty() && pool.namespaces.empty() && !pool.all_namespaces;
}

/// Users set labels, so these choose only among pools for the pod's namespace, if a pool lists any.
bool IsChosenByLabels(const Pool& pool, const PlanRequest& request) {
  if (pool.pods.empty() || !HasLabels(pool, request)) return false;
  return IsForLabelsAlone(pool) || IsGiven(pool, request.owner.scope);
}

Allocator& ChooseNamed(std::vector<Allocator>& allocators, const PlanRequest& request,
                       const std::string& name) {
  const auto found =
      std::find_if(allocators.begin(), allocators.end(),
                   [&](const Allocator& known) { return known.pool().name == name; });
  const std::string text = "pool \"" + Printable(name) + "\"";
  if (found == allocators.end())
    throw PlanError(PlanError::Kind::kGone, text + " is not in kuryr.conf");
  const Pool& pool = found->pool();
  const std::string& scope = request.owner.scope;
  if (pool.is_default || IsGiven(pool, scope) || IsChosenByLabels(pool, request)) return *found;
  throw PlanError(PlanError::Kind::kRefused, text + " is not for namespace " + Printable(scope) +
                                                 ": [pool:" + pool.name +
                                                 "] namespaces in kuryr.conf does not list it");
}

/// The pool of nodes' management ports: the one that has a network for each node, else the default.
Allocator& ChooseForNode(std::vector<Allocator>& allocators) {
  auto found = std::find_if(allocators.begin(), allocators.end(),
                            [](const Allocator& known) { return known.pool().for_nodes; });
  if (found == allocators.end()) {
    found = std::find_if(allocators.begin(), allocators.end(),
                         [](const Allocator& known) { return known.pool().is_default; });
  }
  if (found == allocators.end()) {
    throw PlanError(
        PlanError::Kind::kRefused,
        "no pool is for nodes, which [node_network] enabled asks for: in kuryr.conf set "
        "from_node = true or default = true in one of the pools");
  }
  if (found->pool().kind == VifKind::kOvs) return *found;
  throw PlanError(PlanError::Kind::kRefused,
                  "pool \"" + found->pool().name +
                      "\" has no place for nodes: [node_network] enabled needs vif = ovs");
}

}  // namespace

bool MayUse(const Pool& pool, const std::string& scope) {
  return pool.is_default || IsGiven(pool, scope) || IsForLabelsAlone(pool);
}

Allocator& ChoosePool(std::vector<Allocator>& allocators, const PlanRequest& request,
                      const InterfaceRequest& interface) {
  if (request.owner.is_node()) return ChooseForNode(allocators);
  if (!interface.network.empty()) return ChooseNamed(allocators, request, interface.network);
  const std::string& scope = request.owner.scope;
  const std::function<bool(const Pool&)> rules[] = {
      [&](const Pool& pool) { return IsChosenByLabels(pool, request); },
      [&](const Pool& pool) { return pool.pods.empty() && Lists(pool, scope); },
      [&](const Pool& pool) { return pool.pods.empty() && pool.all_namespaces; },
      [&](const Pool& pool) { return pool.is_default; }};
  for (const auto& chooses : rules) {
    const auto found = std::find_if(allocators.begin(), allocators.end(),
                                    [&](const Allocator& known) { return chooses(known.pool()); });
    if (found != allocators.end()) return *found;
  }
  throw PlanError(PlanError::Kind::kRefused,
                  "no pool is for namespace " + Printable(scope) +
                      ": in kuryr.conf add it to [pool:NAME] namespaces, or set default = true "
                      "in one of the pools");
}

}  // namespace kuryr::controller::pools
