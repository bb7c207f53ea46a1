#pragma once

#include "base/deadline.h"
#include "binding/config.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Completes what a configuration of ovs-cni leaves open, in `request` and in the drivers'
/// `config`. That is the bridge (of the device's uplink, or br-int for an OVN port), the MAC of a
/// device, and the port's settings. `request` is an ADD, CHECK or STATUS of such a network. Throws
/// CniError 7 when no bridge is found, HostInterfaceInUse for an OVN port that another pod has, and
/// what OpenVSwitch throws.
void PrepareOvsCni(Request& request, binding::BindingConfig& config, const Deadline& deadline);

}  // namespace kuryr::cni
