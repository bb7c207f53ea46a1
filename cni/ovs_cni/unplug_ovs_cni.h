#pragma once

#include <optional>

#include "base/deadline.h"
#include "binding/config.h"
#include "cni/ovs_cni/cache.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Takes away what ovs-cni plugged for the attachment of a DEL: the veth pair, and its ports by the
/// external_ids that ovs-cni gives them. A device goes back to the host under its name. Ports with
/// our own external_ids are left alone. `entry` is what ovs-cni kept of the attachment. Idempotent.
/// Where Open vSwitch does not answer, throws what OpenVSwitch does if there is an entry: without
/// one there may be nothing.
void UnplugOvsCni(const Request& request, const std::optional<OvsCniCache::Entry>& entry,
                  const binding::BindingConfig& config, const Deadline& deadline);

}  // namespace kuryr::cni
