#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/thread_annotations.h"
#include "cni/agent/upkeep/repair_history.h"
#include "cni/agent/upkeep/repair_report.h"
#include "cni/agent/upkeep/switch_wait.h"
#include "cni/agent/upkeep/upkeep.h"
#include "cni/attachments/record_check.h"
#include "cni/node_context.h"

namespace kuryr::cni {

/// Compares the attachments of running pods with their records, and repairs what can be repaired
/// without harm to the pods. Looks at all of them every few minutes, and at one when it is woken.
/// Attachments of networks without a producer are left alone: the plugin alone has their
/// configuration. Thread-safe.
class Repair : public UpkeepJob {
 public:
  /// Everything is borrowed.
  Repair(const NodeContext& node, const Config& config, SwitchWait& switch_wait)
      : node_(node), config_(config), switch_wait_(switch_wait), report_(config, node.writer) {}

  [[nodiscard]] const char* name() const override { return "repair"; }
  [[nodiscard]] bool is_parallel() const override { return true; }
  void Begin(Upkeep& upkeep) override;
  [[nodiscard]] bool Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) override;

  /// From now on Wake knows the host interfaces of the attachment.
  void Learn(const AttachmentRecord& record) EXCLUDES(mutex_);
  /// The attachment goes: Wake knows none of its host interfaces any more.
  void Forget(const AttachmentKey& key) EXCLUDES(mutex_);
  /// These links or ports of the host have changed: their attachments are looked at soon. With
  /// PortEvents::kApplied those that wait for Open vSwitch are looked at, too.
  void Wake(Upkeep& upkeep, const std::set<std::string>& names) const EXCLUDES(mutex_);
  /// Anything may have changed: all attachments are looked at within the next seconds.
  void WakeAll(Upkeep& upkeep) const;

  void WriteTo(service::MetricsText& text) const { report_.WriteTo(text); }

 private:
  /// Looks at all of `keys`, one each `step`.
  void LookAt(Upkeep& upkeep, const std::vector<AttachmentKey>& keys,
              std::chrono::milliseconds step) const;
  /// Looks at all attachments within the next minutes, and then anew.
  void BeginRound(Upkeep& upkeep) EXCLUDES(mutex_);
  /// A new one where the attachment has none. Whoever tries the attachment has it alone.
  [[nodiscard]] std::shared_ptr<RepairHistory> HistoryOf(const std::string& key) EXCLUDES(mutex_);
  void Settle(const std::string& key) EXCLUDES(mutex_);
  /// With the record locked: no ADD or DEL is at work.
  void Treat(Upkeep& upkeep, const AttachmentRecord& record, const RecordCheck& check,
             const Deadline& deadline);

  const NodeContext& node_;
  const Config& config_;
  SwitchWait& switch_wait_;
  RepairReport report_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<RepairHistory>> histories_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> keys_ GUARDED_BY(mutex_);  ///< by host interface
};

}  // namespace kuryr::cni
