#pragma once

#include "base/deadline.h"
#include "binding/config.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Finds out what the configuration of ovs-cni leaves open, and tells the drivers. That is the
/// bridge (of the device's uplink, or br-int for an OVN port), the MAC of a device, and what the
/// port gets. `request` is an ADD, CHECK or STATUS of such a network. Throws CniError 7 where no
/// bridge can be told, HostInterfaceInUse for an OVN port that another pod has, and what
/// OpenVSwitch does.
void PrepareOvsCni(Request& request, binding::BindingConfig& config, const Deadline& deadline);

}  // namespace kuryr::cni
