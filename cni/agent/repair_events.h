#pragma once

#include <stop_token>
#include <thread>

#include "cni/agent/repair.h"
#include "cni/agent/upkeep.h"
#include "cni/config.h"

namespace kuryr::cni {

/// Wakes the repair by events of the node: of its links, and of the ports in Open vSwitch's
/// database. Each has a thread.
class RepairEvents {
 public:
  /// Everything is borrowed.
  RepairEvents(Repair& repair, Upkeep& upkeep, const Config& config);

 private:
  /// Passes the events of a source on, until it is stopped. Where the source fails, `make` gives
  /// another one.
  template <typename Make>
  void Run(const std::stop_token& stop, const Make& make);

  Repair& repair_;
  Upkeep& upkeep_;
  std::jthread links_;
  std::jthread ports_;  // last: they use all of the above
};

}  // namespace kuryr::cni
