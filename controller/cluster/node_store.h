#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/cluster/askers.h"
#include "controller/cluster/nodes.h"
#include "controller/owners/owner_store.h"

namespace kuryr::controller {

/// A Node as the owner of its management port.
struct OwningNode {
  std::string name;
  std::string uid;
  NodeFacts facts;
  std::string plan;                            ///< the annotation; empty: none
  std::vector<vif::PodVif> vifs;               ///< those of the plan; empty: it cannot be read
  std::chrono::steady_clock::time_point seen;  ///< the first time of this uid

  [[nodiscard]] Owner owner() const { return {.id = uid, .scope = "", .name = name, .node = name}; }
};

[[nodiscard]] OwningNode OwningNodeOf(const watcher::WatchEvent& node);

/// All that is known of a node.
struct KnownNode {
  std::shared_ptr<const OwningNode> node;  ///< null: there is none of this name
  std::vector<std::string> gone;           ///< UIDs of deleted nodes that the backend may know

  [[nodiscard]] std::string uid() const { return node ? node->uid : ""; }
  [[nodiscard]] bool IsEmpty() const noexcept { return !node && gone.empty(); }
  [[nodiscard]] bool IsPlanned() const noexcept { return node && !node->vifs.empty(); }
  [[nodiscard]] bool IsToBePlanned() const noexcept { return node != nullptr; }
};

/// The cluster's nodes and the plans of their management ports, by Key::object. Watched with
/// [node_network] enabled. A new backend hears of every plan. Thread-safe.
class NodeStore : public OwnerStore<KnownNode> {
 public:
  static constexpr std::string_view kKind = Key::kNode;

  explicit NodeStore(const KindParts& parts)
      : OwnerStore(parts.wake), is_watched_(parts.node_network.enabled) {}

  [[nodiscard]] std::vector<WatchedPath> Paths() override;
  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);
  /// Tells of every plan. Wakes every key. The backend is not told later plans: these are this
  /// controller's own, or of a user who may not choose a node's addresses.
  void BeginTerm(const Term& term) override EXCLUDES(mutex_);
  void WriteTo(service::MetricsText& text) const override;

  /// The VIFs of the node's plan. Empty: it has none yet; then `asker` is woken when it has.
  [[nodiscard]] std::vector<vif::PodVif> PlanOf(const std::string& name, const Key& asker)
      EXCLUDES(mutex_);

  /// Whether a node has networks of its own (spec.podCIDRs).
  [[nodiscard]] bool HasPodCidrs() const EXCLUDES(mutex_);

 private:
  void Tell(const OwningNode& node) REQUIRES(mutex_);
  /// Tells of its zone and machine. Null: the node is gone.
  void TellOfFacts(const std::string& name, const OwningNode* node) REQUIRES(mutex_);

  const bool is_watched_;
  Askers askers_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
