#pragma once

#include <thread>

#include "cni/agent/upkeep/repair.h"
#include "cni/agent/upkeep/upkeep.h"
#include "cni/config.h"

namespace kuryr::cni {

/// Wakes the repair by events of the node: of its links, and of the ports in Open vSwitch's
/// database. Each has a thread.
class RepairEvents {
 public:
  /// Everything is borrowed.
  RepairEvents(Repair& repair, Upkeep& upkeep, const Config& config);

 private:
  std::jthread links_;
  std::jthread ports_;
};

}  // namespace kuryr::cni
