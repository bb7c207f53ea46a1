#pragma once

#include <thread>

#include "cni/agent/upkeep/repair.h"
#include "cni/agent/upkeep/upkeep.h"
#include "cni/config.h"

namespace kuryr::cni {

/// Wakes the repair by events of the node: of its links, of the ports in Open vSwitch's database,
/// and of starts of ovs-vswitchd. Each has a thread.
class RepairEvents {
 public:
  /// Everything is borrowed, for longer than its own life.
  RepairEvents(Repair& repair, Upkeep& upkeep, const Config& config);

 private:
  std::jthread links_;
  std::jthread ports_;
  std::jthread restarts_;
};

}  // namespace kuryr::cni
