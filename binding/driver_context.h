#pragma once

#include <atomic>

#include "base/deadline.h"
#include "base/thread_annotations.h"
#include "binding/config.h"
#include "binding/netlink/link_remover.h"
#include "binding/ovs/openflow_connections.h"
#include "binding/ovs/own_changes.h"
#include "ovsdb/connections.h"

namespace kuryr::binding {

/// All drivers of one namespace share this, in all calls at once. Thread-safe.
struct Shared {
  OvsdbConnections ovsdb;
  OpenFlowConnections flows;
  OwnChanges changes;  ///< this process's changes of Open vSwitch's database
  LinkRemover links;
  /// ovs-vswitchd has answered, and is not asked again until then (Binding::FindOvsProblem).
  std::atomic<Deadline::Clock::time_point> served_until;
  /// A thread holds it while it makes links of the host. Each step takes the kernel's lock of links
  /// (RTNL). Threads that wait for that lock take processor time from its holder:
  /// mutex_spin_on_owner, and restart_syscall of a sysctl of IPv6.
  Mutex making_links;
};

/// A driver is made from this. `shared` outlives the driver.
struct DriverContext {
  BindingConfig config;
  Shared& shared;
};

}  // namespace kuryr::binding
