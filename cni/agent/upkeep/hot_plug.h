#pragma once

#include <map>
#include <string>

#include "base/deadline.h"
#include "cni/agent/registry/pod_registry.h"
#include "cni/agent/upkeep/attachment_reporter.h"
#include "cni/agent/upkeep/outcome_counter.h"
#include "cni/agent/upkeep/plan_change.h"
#include "cni/agent/upkeep/running_plugs.h"
#include "cni/agent/upkeep/switch_wait.h"
#include "cni/agent/upkeep/upkeep.h"
#include "cni/config.h"
#include "cni/node_context.h"
#include "service/metrics_text.h"

namespace kuryr::cni {

/// Changes the attachments of running pods with their plans: plugs VIFs that were added to a plan,
/// unplugs those that were removed, and changes addresses, routes and MTU of the others. The
/// default VIF is never unplugged. A key is an attachment, or a pod (NAMESPACE/NAME) whose plan may
/// have changed. The upkeep's thread alone calls Try.
class HotPlug : public UpkeepJob {
 public:
  /// Everything is borrowed.
  HotPlug(const NodeContext& node, const Config& config, const PodRegistry& registry,
          SwitchWait& switch_wait)
      : node_(node),
        config_(config),
        registry_(registry),
        switch_wait_(switch_wait),
        reporter_(config, node.writer) {}

  [[nodiscard]] const char* name() const override { return "hot-plug"; }
  void Begin(Upkeep& /*upkeep*/) override {}
  [[nodiscard]] bool Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) override;

  /// Looks soon at the attachment, whose ADD is done, or at those of the pod, which has changed.
  void Wake(Upkeep& upkeep, const std::string& key) const;

  void WriteTo(service::MetricsText& text) const;

 private:
  /// The tries of one attachment so far.
  struct History {
    int failures = 0;                         ///< one after the other
    std::map<std::string, std::string> told;  ///< the last message by its Event's reason
  };

  void WakeAttachmentsOf(Upkeep& upkeep, const std::string& pod);
  void Follow(RunningPlugs& plugs, const PlanChange& change, History& history);
  /// Tells what differs, where that is not to be changed.
  void Report(const AttachmentRecord& record, const PlanChange& change, History& history);
  /// False where that was told before.
  bool TellOnce(const AttachmentRecord& record, const watcher::PodEvent& event,
                History& history) const;
  /// False: it is tried again soon. True: it rests.
  [[nodiscard]] bool Fail(Upkeep& upkeep, const std::string& key, const AttachmentRecord& record,
                          const std::string& why);

  const NodeContext& node_;
  const Config& config_;
  const PodRegistry& registry_;
  SwitchWait& switch_wait_;
  const AttachmentReporter reporter_;
  OutcomeCounter count_;
  std::map<std::string, History> histories_;  ///< by attachment
};

}  // namespace kuryr::cni
