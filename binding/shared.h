#pragma once

#include "base/thread_annotations.h"
#include "binding/netlink/link_remover.h"
#include "binding/ovs/own_changes.h"
#include "ovsdb/connections.h"

namespace kuryr::binding {

/// What all drivers of one namespace use, in all calls at once. Thread-safe.
struct Shared {
  OvsdbConnections ovsdb;
  OwnChanges changes;  ///< of Open vSwitch's database
  LinkRemover links;
  /// Held by who makes links of the host. Each step takes the kernel's lock of links (RTNL), and
  /// those that wait for it take processors from the one that has it: mutex_spin_on_owner, and
  /// restart_syscall of a sysctl of IPv6.
  Mutex making_links;
};

}  // namespace kuryr::binding
