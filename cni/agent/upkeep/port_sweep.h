#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "binding/plan/attachment.h"
#include "cni/agent/upkeep/upkeep.h"
#include "cni/node_context.h"

namespace kuryr::cni {

/// Removes ports of Open vSwitch without a record whose pod is gone: no DEL comes for them. They
/// are left where pods went while records and the runtime's state were lost. Ports of a network
/// without a producer stay, whatever the API server knows. So do those of static pods, which may
/// run without the API server.
class PortSweep : public UpkeepJob {
 public:
  /// Both are asked in the upkeep's thread.
  struct Questions {
    /// Whether all pods of the node are known now.
    std::function<bool()> knows_pods;
    std::function<bool(const std::string& uid)> has_pod;
  };

  /// Looks every `grace` until a look finds nothing. A port that two looks in a row find is
  /// removed. `node` is borrowed.
  PortSweep(const NodeContext& node, Questions questions, std::chrono::milliseconds grace)
      : node_(node), questions_(std::move(questions)), grace_(grace) {}

  [[nodiscard]] const char* name() const override { return "ports"; }
  void Begin(Upkeep& upkeep) override { upkeep.AddAfter(*this, "", grace_); }
  [[nodiscard]] bool Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) override;

 private:
  /// Whether every port has its record or its pod.
  [[nodiscard]] bool IsClean(const Deadline& deadline);
  /// Removes the ports that were orphans before. Returns the orphans that are left.
  [[nodiscard]] std::vector<AttachmentKey> Look(const Deadline& deadline);
  [[nodiscard]] bool IsOrphan(const binding::FoundPlug& port) const;
  /// False when the removal failed.
  [[nodiscard]] bool Remove(const binding::FoundPlug& port, const Deadline& deadline);

  const NodeContext& node_;
  const Questions questions_;
  const std::chrono::milliseconds grace_;
  std::vector<AttachmentKey> orphans_;  ///< found by the last look
};

}  // namespace kuryr::cni
