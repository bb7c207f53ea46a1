#pragma once

#include <map>
#include <string>

#include "base/deadline.h"
#include "cni/agent/registry/pod_registry.h"
#include "cni/agent/upkeep/attachment_reporter.h"
#include "cni/agent/upkeep/outcome_counter.h"
#include "cni/agent/upkeep/plan_change.h"
#include "cni/agent/upkeep/repair.h"
#include "cni/agent/upkeep/running_plugs.h"
#include "cni/agent/upkeep/switch_wait.h"
#include "cni/agent/upkeep/upkeep.h"
#include "cni/config.h"
#include "cni/node_context.h"
#include "service/metrics_text.h"

namespace kuryr::cni {

/// Changes the attachments of running pods with their plans: plugs VIFs that were added to a plan,
/// unplugs those that were removed, and changes addresses, routes and MTU of the others. The
/// default VIF is never unplugged. The repair learns from it what each attachment has on the host.
/// A key is an attachment, or a pod (NAMESPACE/NAME) whose plan may have changed. The upkeep's
/// thread alone calls Try.
class HotPlug : public UpkeepJob {
 public:
  /// Everything is borrowed.
  HotPlug(const NodeContext& node, const Config& config, const PodRegistry& registry,
          SwitchWait& switch_wait, Repair& repair)
      : node_(node),
        config_(config),
        registry_(registry),
        switch_wait_(switch_wait),
        repair_(repair),
        reporter_(config, node.writer) {}

  [[nodiscard]] const char* name() const override { return "hot-plug"; }
  void Begin(Upkeep& /*upkeep*/) override {}
  [[nodiscard]] bool Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) override;

  /// Looks soon at the attachments of the pod, which has changed.
  void Wake(Upkeep& upkeep, const std::string& pod) const;
  /// Takes over what an ADD has attached. Looks at it soon where its plan has changed meanwhile.
  void Follow(Upkeep& upkeep, const AttachmentRecord& record) const noexcept;
  /// Looks at the attachment, whose DEL has failed.
  void Retry(Upkeep& upkeep, const AttachmentKey& key) const;

  void WriteTo(service::MetricsText& text) const;

 private:
  /// The tries of one attachment so far.
  struct History {
    int failures = 0;                         ///< one after the other
    std::map<std::string, std::string> told;  ///< the last message by its Event's reason
  };

  void WakeAttachmentsOf(Upkeep& upkeep, const std::string& pod);
  void Make(RunningPlugs& plugs, const PlanChange& change, History& history);
  /// Tells the differences that the agent leaves: those that need a new pod, or all with
  /// `repair = report`.
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
  Repair& repair_;
  const AttachmentReporter reporter_;
  OutcomeCounter count_;
  std::map<std::string, History> histories_;  ///< by attachment
};

}  // namespace kuryr::cni
