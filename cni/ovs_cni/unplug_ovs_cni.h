#pragma once

#include <optional>

#include "base/deadline.h"
#include "binding/config.h"
#include "cni/ovs_cni/cache.h"
#include "cni/protocol/request.h"

namespace kuryr::cni {

/// Removes what ovs-cni plugged for the attachment of a DEL: the veth pair, and the ports, which it
/// finds by ovs-cni's external_ids. A device goes back to the host under its name. Ports with our
/// own external_ids are left alone. `entry` is the attachment's in ovs-cni's cache. Idempotent.
/// When Open vSwitch does not answer and there is an entry, throws what OpenVSwitch throws. Without
/// an entry there may be no port.
void UnplugOvsCni(const Request& request, const std::optional<OvsCniCache::Entry>& entry,
                  const binding::BindingConfig& config, const Deadline& deadline);

}  // namespace kuryr::cni
