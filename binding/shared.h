#pragma once

#include "binding/netlink/link_remover.h"
#include "binding/ovs/own_changes.h"
#include "ovsdb/connections.h"

namespace kuryr::binding {

/// What all drivers of one namespace use, in all calls at once. Thread-safe.
struct Shared {
  OvsdbConnections ovsdb;
  OwnChanges changes;  ///< of Open vSwitch's database
  LinkRemover links;
};

}  // namespace kuryr::binding
