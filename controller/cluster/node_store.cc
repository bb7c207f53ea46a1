#include "controller/cluster/node_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "controller/owners/plan_verdict.h"

namespace kuryr::controller {
namespace {

std::string PlanTextOn(const nlohmann::json& node) {
  const auto metadata = node.find("metadata");
  if (metadata == node.end() || !metadata->is_object()) return "";
  const auto annotations = metadata->find("annotations");
  if (annotations == metadata->end() || !annotations->is_object()) return "";
  return StringAt(*annotations, std::string(vif::kVifAnnotation).c_str());
}

std::vector<vif::PodVif> Decode(const std::string& name, const std::string& plan) {
  if (plan.empty()) return {};
  try {
    return vif::DecodeAnnotation(plan);
  } catch (const std::exception& e) {
    Log(LogLevel::kWarning, "a node's plan cannot be read, and is written anew",
        {{"node", Printable(name)}, {"error", e.what()}});
    return {};
  }
}

/// Whether a round looks at something that has changed.
bool HasChanged(const OwningNode* before, const OwningNode* now) {
  if (before == nullptr || now == nullptr) return before != now;
  return before->uid != now->uid || before->facts != now->facts || before->plan != now->plan;
}

}  // namespace

OwningNode OwningNodeOf(const watcher::WatchEvent& event) {
  OwningNode node{.name = event.name, .uid = event.uid, .facts = NodeFactsOf(*event.object)};
  node.seen = std::chrono::steady_clock::now();
  node.plan = PlanTextOn(*event.object);
  node.vifs = Decode(node.name, node.plan);
  return node;
}

std::vector<WatchedPath> NodeStore::Paths() {
  if (!is_watched_) return {};
  return {{.path = "/api/v1/nodes", .forbidden = "nodes"}};
}

std::vector<std::pair<watcher::KeyFn, std::string>> NodeStore::Consumes() const {
  if (!is_watched_) return {};
  return {{watcher::ObjectKind, "Node"}};
}

void NodeStore::WriteTo(service::MetricsText& text) const {
  if (!is_watched_) return;
  const PlanCounts nodes = Count();
  text.Head("kuryr_controller_nodes", "gauge", "Nodes with and without a management port's plan.");
  text.Sample("kuryr_controller_nodes", {{"state", "planned"}}, static_cast<double>(nodes.planned));
  text.Sample("kuryr_controller_nodes", {{"state", "waiting"}}, static_cast<double>(nodes.waiting));
}

void NodeStore::BeginTerm(const Term& term) {
  const MutexLock lock(mutex_);
  backend_ = &term.backend;
  for (const auto& [key, known] : known_) {
    TellOfFacts(known.node ? known.node->name : "", known.node.get());
    if (known.node) Tell(*known.node);
    wake_({Key::kNode, key});
  }
}

/// A plan that the backend does not know as its own, or that another owner's contradicts, is
/// replaced by the node's round.
void NodeStore::Tell(const OwningNode& node) {
  const Owner owner = node.owner();
  if (node.vifs.empty() || !OwnsAll(*backend_, owner, node.vifs)) return;
  try {
    backend_->Adopt(owner, node.vifs);
  } catch (const PlanError& e) {
    Log(LogLevel::kWarning, "a node's plan is not its own alone",
        {{"node", Printable(node.name)}, {"error", e.what()}});
  }
}

void NodeStore::TellOfFacts(const std::string& name, const OwningNode* node) {
  if (backend_ == nullptr || name.empty()) return;
  const Facets facets = backend_->facets();
  if (facets.services != nullptr) facets.services->SetZone(name, node ? node->facts.zone : "");
  ChassisKeeper* const keeper = facets.chassis;
  if (keeper == nullptr) return;
  if (node == nullptr) {
    keeper->RemoveNode(name);
  } else {
    keeper->SetNode(
        {.name = name, .machine = node->facts.machine, .addresses = node->facts.addresses});
  }
}

void NodeStore::Handle(const watcher::WatchEvent& event) {
  std::shared_ptr<OwningNode> node;
  if (event.type != watcher::EventType::kDeleted)
    node = std::make_shared<OwningNode>(OwningNodeOf(event));
  const Key key = Key::OfNode(event.name);
  bool has_changed = false;
  std::set<Key> askers;
  Update(key.object, [&](Known& known) KURYR_TSA(requires_capability(mutex_)) {
    has_changed = HasChanged(known.node.get(), node.get());
    if (node && known.uid() == node->uid) node->seen = known.node->seen;
    if (has_changed && node && !node->vifs.empty()) askers = askers_.Take(event.name);
    known.node = node;
    if (has_changed) TellOfFacts(event.name, node.get());
  });
  if (!has_changed) return;
  wake_(key);
  for (const Key& asker : askers) wake_(asker);
}

std::vector<vif::PodVif> NodeStore::PlanOf(const std::string& name, const Key& asker) {
  const MutexLock lock(mutex_);
  const auto known = known_.find(Key::OfNode(name).object);
  if (known != known_.end() && known->second.IsPlanned()) return known->second.node->vifs;
  askers_.Add(name, asker);
  return {};
}

bool NodeStore::HasPodCidrs() const {
  const MutexLock lock(mutex_);
  return std::any_of(known_.begin(), known_.end(), [](const auto& entry) {
    const auto& node = entry.second.node;
    return node && !node->facts.pod_cidrs.empty();
  });
}

}  // namespace kuryr::controller
