#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "controller/backends/backend.h"
#include "controller/cluster/askers.h"
#include "controller/cluster/nodes.h"
#include "watcher/event_pipeline.h"

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

/// The cluster's nodes and the plans of their management ports, as the watch tells them. Watched
/// with [node_network] enabled. A new backend hears of every plan. A change of a
/// node's facts wakes the node's key: KeyOf("", its name). Thread-safe.
class NodeStore : public watcher::EventConsumer {
 public:
  using Wake = std::function<void(const std::string& key)>;

  explicit NodeStore(Wake wake) : wake_(std::move(wake)) {}

  /// Tells `backend`, which is borrowed and new, of every plan. Wakes every key. A later plan is
  /// this controller's own, or somebody's who may not choose a node's addresses.
  void StartTelling(Backend& backend) EXCLUDES(mutex_);
  /// After the return, the backend is not used any more.
  void StopTelling() EXCLUDES(mutex_);

  [[nodiscard]] std::vector<std::pair<watcher::KeyFn, std::string>> Consumes() const override;
  void Handle(const watcher::WatchEvent& event) override EXCLUDES(mutex_);

  struct Known {
    std::shared_ptr<const OwningNode> node;  ///< null: there is none of this name
    std::vector<std::string> gone;           ///< UIDs of deleted nodes that the backend may know
  };
  [[nodiscard]] Known Find(const std::string& name) const EXCLUDES(mutex_);
  /// The backend has released the deleted node of this UID.
  void ForgetGone(const std::string& name, const std::string& uid) EXCLUDES(mutex_);

  /// The VIFs of the node's plan. Empty: it has none yet; then `asker` is woken when it has.
  [[nodiscard]] std::vector<vif::PodVif> PlanOf(const std::string& name, const std::string& asker)
      EXCLUDES(mutex_);

  /// Whether a node has networks of its own (spec.podCIDRs).
  [[nodiscard]] bool HasPodCidrs() const EXCLUDES(mutex_);

  /// Nodes with a plan, and nodes that wait for one.
  struct Counts {
    size_t planned = 0;
    size_t waiting = 0;
  };
  [[nodiscard]] Counts Count() const EXCLUDES(mutex_);

 private:
  void Tell(const OwningNode& node) REQUIRES(mutex_);
  /// False: nothing changed that a round looks at.
  [[nodiscard]] bool Update(const std::string& name, std::shared_ptr<OwningNode> node)
      REQUIRES(mutex_);

  const Wake wake_;
  mutable Mutex mutex_;
  Backend* backend_ GUARDED_BY(mutex_) = nullptr;  ///< null: nobody leads here
  std::unordered_map<std::string, Known> known_ GUARDED_BY(mutex_);
  Askers askers_ GUARDED_BY(mutex_);
};

}  // namespace kuryr::controller
