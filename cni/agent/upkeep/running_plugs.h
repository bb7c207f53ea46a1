#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "cni/agent/upkeep/plan_change.h"
#include "cni/attachments/attachment_store.h"
#include "cni/node_context.h"
#include "cni/pod/pod_result.h"

namespace kuryr::cni {

/// The plugs of a running pod's attachment, which change one by one. The record names each plug
/// before the plug is made and until it is gone, so that a DEL or the next agent finds it. Not
/// thread-safe.
class RunningPlugs {
 public:
  /// Everything is borrowed; `attachment` is locked and has a record.
  RunningPlugs(const NodeContext& node, LockedAttachment& attachment, const binding::Netns& pod,
               const Deadline& deadline)
      : node_(node), attachment_(attachment), pod_(pod), deadline_(deadline) {}

  [[nodiscard]] const AttachmentRecord& record() const { return *attachment_.record(); }

  /// Disconnects the plugs that a killed process was at work on, and drops them from the record.
  void DropInterrupted();
  /// Connects the VIF. A failure leaves neither plug nor entry in the record. Throws what Connect
  /// and RequireOwnIdentity throw.
  void Plug(const PlanChange::Added& added);
  void Unplug(const std::string& ifname);
  /// Gives the interface its new addresses, routes, MTU and port settings. After a failure the
  /// record has the former VIF still, and the same change may be repeated.
  void Change(const PlanChange::Changed& changed);

  /// All VIFs of the record, each with its interface as the kernel has it.
  [[nodiscard]] std::vector<PluggedVif> Plugged() const;

 private:
  void SetMtu(const binding::Planned& planned);
  /// Disconnects the plug, then drops it from the record.
  void Drop(const std::string& ifname, const Deadline& deadline);

  const NodeContext& node_;
  LockedAttachment& attachment_;
  const binding::Netns& pod_;
  const Deadline deadline_;
};

}  // namespace kuryr::cni
