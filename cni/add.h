#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/deadline.h"
#include "cni/add_observer.h"
#include "cni/node.h"
#include "cni/pod_event_source.h"
#include "cni/protocol/request.h"
#include "cni/stage_observer.h"

namespace kuryr::cni {

/// Serves an ADD: locks the attachment, clears what a killed ADD left, gets the pod's VIFs (from
/// its events, or makes them itself for a local network) and plugs them. The answer is the result,
/// in a chain behind prevResult. All or nothing: whatever it throws, no link, port or record of it
/// is left, or where one could not be removed, the record that lets the runtime's DEL do so.
[[nodiscard]] nlohmann::ordered_json Add(const Request& request, const Node& node,
                                         PodEventSource& events, AddObserver& observer,
                                         StageObserver& stages, const Deadline& deadline);

}  // namespace kuryr::cni
