#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/thread_annotations.h"
#include "binding/node/chassis.h"
#include "binding/node/node_part.h"
#include "binding/node/node_routes.h"
#include "cni/agent/node/node_events.h"
#include "cni/agent/node/node_registry.h"
#include "cni/agent/node/node_report.h"
#include "cni/agent/node/stranded_pods.h"
#include "cni/agent/upkeep/repair_history.h"
#include "cni/agent/upkeep/upkeep.h"
#include "cni/config.h"
#include "cni/node_context.h"
#include "watcher/watcher.h"

namespace kuryr::cni {

/// Makes and keeps the node's own part in its pods' network ([node_network]): the management port
/// with its addresses, routes to other nodes' pods, rules of nftables, and the chassis of OVN
/// ([ovn] manage_node). Takes all of it back where the section is off, or the Node has no plan.
/// Thread-safe but for Start and Stop.
class NodeNetwork : public UpkeepJob {
 public:
  /// Everything is borrowed.
  NodeNetwork(const NodeContext& node, const Config& config);

  [[nodiscard]] const char* name() const override { return "node-network"; }
  void Begin(Upkeep& upkeep) override;
  [[nodiscard]] bool Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) override;

  /// Watches the Nodes, and what was made. Where the section is off, it does nothing.
  void Start(Upkeep& upkeep);
  /// Ends what Start began. The upkeep is not woken after it.
  void Stop();

  /// The state for `kuryr-daemon status`; null where the section is off.
  [[nodiscard]] nlohmann::json Describe() const EXCLUDES(mutex_);
  void WriteTo(service::MetricsText& text) const EXCLUDES(mutex_);
  /// As Watcher::Metrics.
  [[nodiscard]] std::map<std::string, watcher::WatchMetrics> WatchMetrics() const;

 private:
  /// The result of the last try.
  struct State {
    std::optional<binding::NodePlan> plan;
    bool is_active = true;              ///< the plan's port, by its producer
    std::vector<std::string> problems;  ///< "PART: TEXT"
    std::vector<binding::NodeRoute> routes;
    std::vector<binding::ChassisSetting> chassis;  ///< where the agent manages it
  };
  struct Part {
    RepairHistory history;
    std::optional<binding::NodePlan> made;   ///< the plan by which the part was right last
    std::optional<binding::NodePlan> tried;  ///< the plan by which it was made last
    std::string problem;                     ///< why that failed
  };

  /// Throws ParseError and UnsupportedVif for a VIF that is no management port's.
  [[nodiscard]] binding::NodePlan PlanOf(const KnownNodes& nodes) const;
  [[nodiscard]] bool Keep(const KnownNodes& nodes, const Deadline& deadline);
  [[nodiscard]] bool TakeBack(const std::string& why, const Deadline& deadline);
  /// Returns why the part is not as planned; empty where it is.
  [[nodiscard]] std::string Treat(binding::NodePart& part, const binding::NodePlan& plan,
                                  const std::string& uid, const Deadline& deadline);
  /// Whether the part is as planned now. One that could not be made is tried again when it is due.
  [[nodiscard]] bool Make(binding::NodePart& part, const binding::Differences& found,
                          const std::string& uid, const Deadline& deadline);
  void Tell(const State& state);
  void Publish(State state) EXCLUDES(mutex_);

  const NodeContext& node_;
  const Config& config_;
  NodeReport report_;
  StrandedPods stranded_;              ///< the upkeep's thread has it alone
  std::map<std::string, Part> parts_;  ///< by name; the upkeep's thread has them alone
  std::set<std::string> told_;         ///< the upkeep's thread has it alone
  mutable Mutex mutex_;
  std::optional<State> state_ GUARDED_BY(mutex_);
  Upkeep* upkeep_ = nullptr;
  NodeRegistry registry_;
  watcher::EventPipeline pipeline_;
  std::optional<watcher::Watcher> watcher_;
  std::optional<NodeEvents> events_;
};

}  // namespace kuryr::cni
