#pragma once

#include "base/deadline.h"
#include "cni/agent/upkeep/upkeep.h"
#include "cni/node_context.h"

namespace kuryr::cni {

/// Removes flows of pods' ports that are gone, at the agent's start and every few minutes. Flows
/// are left where another than kuryr-cni removes a port, or where a process ends during a DEL.
class FlowSweep : public UpkeepJob {
 public:
  /// `node` is borrowed.
  explicit FlowSweep(const NodeContext& node) : node_(node) {}

  [[nodiscard]] const char* name() const override { return "flows"; }
  void Begin(Upkeep& upkeep) override;
  [[nodiscard]] bool Try(Upkeep& upkeep, const std::string& key, const Deadline& deadline) override;

 private:
  const NodeContext& node_;
};

}  // namespace kuryr::cni
