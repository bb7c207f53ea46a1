#include "controller/cluster/node_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "controller/owners/pod_facts.h"

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

}  // namespace

OwningNode OwningNodeOf(const watcher::WatchEvent& event) {
  OwningNode node{.name = event.name, .uid = event.uid, .facts = NodeFactsOf(*event.object)};
  node.seen = std::chrono::steady_clock::now();
  node.plan = PlanTextOn(*event.object);
  node.vifs = Decode(node.name, node.plan);
  return node;
}

std::vector<std::pair<watcher::KeyFn, std::string>> NodeStore::Consumes() const {
  return {{watcher::ObjectKind, "Node"}};
}

void NodeStore::StartTelling(Backend& backend) {
  const MutexLock lock(mutex_);
  backend_ = &backend;
  for (const auto& [name, known] : known_) {
    if (known.node) Tell(*known.node);
    wake_(KeyOf("", name));
  }
}

void NodeStore::StopTelling() {
  const MutexLock lock(mutex_);
  backend_ = nullptr;
  for (auto& [name, known] : known_) known.gone.clear();
  std::erase_if(known_, [](const auto& entry) { return !entry.second.node; });
}

/// A plan that the backend does not know as its own, or that another owner's contradicts, is
/// replaced by the node's round.
void NodeStore::Tell(const OwningNode& node) {
  const Owner owner = node.owner();
  const bool is_ours = std::all_of(
      node.vifs.begin(), node.vifs.end(),
      [&owner, &backend = *backend_](const vif::PodVif& vif) { return backend.Owns(owner, vif); });
  if (node.vifs.empty() || !is_ours) return;
  try {
    backend_->Adopt(owner, node.vifs);
  } catch (const PlanError& e) {
    Log(LogLevel::kWarning, "a node's plan is not its own alone",
        {{"node", Printable(node.name)}, {"error", e.what()}});
  }
}

void NodeStore::Handle(const watcher::WatchEvent& event) {
  const bool is_deleted = event.type == watcher::EventType::kDeleted;
  const std::shared_ptr<OwningNode> node =
      is_deleted ? nullptr : std::make_shared<OwningNode>(OwningNodeOf(event));
  std::set<std::string> askers;
  {
    const MutexLock lock(mutex_);
    if (!Update(event.name, node)) return;
    if (node && !node->vifs.empty()) askers = askers_.Take(event.name);
  }
  wake_(KeyOf("", event.name));
  for (const std::string& asker : askers) wake_(asker);
}

bool NodeStore::Update(const std::string& name, std::shared_ptr<OwningNode> node) {
  Known& known = known_[name];
  if (node && known.node && known.node->uid == node->uid) node->seen = known.node->seen;
  const std::shared_ptr<const OwningNode> before = std::exchange(known.node, std::move(node));
  const OwningNode* const now = known.node.get();
  const bool is_another = before && (now == nullptr || now->uid != before->uid);
  if (is_another && backend_ != nullptr) known.gone.push_back(before->uid);
  if (now == nullptr) {
    if (known.gone.empty()) known_.erase(name);
    return before != nullptr;
  }
  std::erase(known.gone, now->uid);
  return !before || is_another || before->facts != now->facts || before->plan != now->plan;
}

NodeStore::Known NodeStore::Find(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto known = known_.find(name);
  return known == known_.end() ? Known() : known->second;
}

void NodeStore::ForgetGone(const std::string& name, const std::string& uid) {
  const MutexLock lock(mutex_);
  const auto known = known_.find(name);
  if (known == known_.end()) return;
  std::erase(known->second.gone, uid);
  if (!known->second.node && known->second.gone.empty()) known_.erase(known);
}

std::vector<vif::PodVif> NodeStore::PlanOf(const std::string& name, const std::string& asker) {
  const MutexLock lock(mutex_);
  const auto known = known_.find(name);
  if (known != known_.end() && known->second.node && !known->second.node->vifs.empty())
    return known->second.node->vifs;
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

NodeStore::Counts NodeStore::Count() const {
  Counts counts;
  const MutexLock lock(mutex_);
  for (const auto& [name, known] : known_) {
    if (known.node) ++(known.node->vifs.empty() ? counts.waiting : counts.planned);
  }
  return counts;
}

}  // namespace kuryr::controller
