#pragma once

#include "cni/protocol/request.h"
#include "watcher/event_pipeline.h"
#include "watcher/watch_loop.h"

namespace kuryr::cni {

/// Where an ADD hears of its pod: the API server's own watch, or the registry of the node's agent.
class PodEventSource {
 public:
  virtual ~PodEventSource() = default;

  /// From now on `consumer` gets the pod's events, its present state first, and `on_failure` hears
  /// why none come; both from another thread, and both borrowed until Stop().
  virtual void Start(const PodArgs& pod, watcher::EventConsumer& consumer,
                     watcher::FailureHandler on_failure) = 0;
  /// After it nothing is called any more.
  virtual void Stop() = 0;
  /// Whether a pod that Start() told of is the one that has its name now: what tells of it may be
  /// behind. True where that cannot be found out.
  [[nodiscard]] virtual bool IsCurrent(const watcher::WatchEvent& pod) = 0;
  /// Whether a pod that Start() has not told of is gone for good. False where that cannot be found
  /// out.
  [[nodiscard]] virtual bool IsGone(const PodArgs& pod) = 0;
  /// For STATUS: throws CniError 50 that says why no pod's events could be had now.
  virtual void RequireReady() = 0;
};

}  // namespace kuryr::cni
