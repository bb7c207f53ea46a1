#pragma once

#include "ovsdb/database.h"

namespace kuryr::binding {

/// Open_vSwitch (ovs-vswitchd.conf.db(5)).
extern const OvsdbDatabase kOpenVSwitchDatabase;

}  // namespace kuryr::binding
