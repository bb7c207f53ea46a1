#pragma once

#include "base/deadline.h"
#include "cni/config.h"
#include "cni/node.h"
#include "cni/pod/pod_event_source.h"
#include "cni/protocol/request.h"
#include "cni/stage_observer.h"

namespace kuryr::cni {

/// One request that is served, and what serves it. Borrows what it refers to.
struct Call {
  const Request& request;
  const Node& node;
  const Config& config;
  PodEventSource& events;
  StageObserver& stages;
  Deadline deadline;
};

}  // namespace kuryr::cni
